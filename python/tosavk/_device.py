"""Devices: which there are, and opening them."""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import threading
from typing import Any

from . import _native
from .errors import UsageError


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """A Vulkan device of this machine.

    Attributes:
        index: its number, which opens it.
        name, driver: as Vulkan says.
        type: ``"discrete"``, ``"integrated"``, ``"virtual"``, ``"cpu"`` or ``"other"``.
        uuid: 32 hexadecimal digits.
        details: everything that ``tosavk_device_describe`` says: capabilities, limits, what was chosen and why.
    """

    index: int
    name: str
    driver: str
    type: str
    uuid: str
    details: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.index}: {self.name} ({self.type}, {self.driver})"


def devices() -> list[DeviceInfo]:
    """The Vulkan devices of this machine.

    Raises:
        NoDeviceError: there is no Vulkan loader or driver.
    """
    found = []
    for index in range(_native.device_count()):
        said = json.loads(_native.describe_device(index))
        found.append(DeviceInfo(index, said["name"], said["driver"], said["type"], said["uuid"], said))
    return found


class Device:
    """An opened device. Thread-safe.

    Args:
        which: None takes the best (discrete before integrated before software); else an index of `devices`, ``"cpu"``
            for a software driver, or a part of a device's name.
        cache_dir: folder of the disk cache of shaders; None: as the environment says (``$TOSAVK_CACHE_DIR``, else
            ``~/.cache/tosa-vk``); False: no cache.

    Raises:
        NoDeviceError: there is no such device.
    """

    def __init__(
        self, which: int | str | None = None, *, cache_dir: str | os.PathLike[str] | bool | None = None
    ) -> None:
        name = _name_of(which)
        folder = None if cache_dir is None or isinstance(cache_dir, bool) else os.fspath(cache_dir)
        if cache_dir is True:
            raise UsageError("cache_dir is a folder, None or False")
        self._native = _native.Device.open(name, folder, cache_dir is False)

    @property
    def name(self) -> str:
        """As Vulkan says."""
        return self._native.name

    @property
    def driver(self) -> str:
        """Name and version of its driver."""
        return self._native.driver

    def memory(self) -> dict[str, int]:
        """Device memory of this object's networks and buffers, in bytes: ``in_use``, ``peak``, ``allocations`` (a
        count) and ``cached`` (freed, but kept to be used again: always 0 in this version); and of the device ``heap``,
        ``budget`` and ``used`` (0: unknown)."""
        return self._native.memory()

    def __repr__(self) -> str:
        return f"<tosavk.Device {self.name!r}>"


def _name_of(which: int | str | None) -> str:
    if which is None:
        return ""
    if isinstance(which, bool) or not isinstance(which, (int, str)):
        raise UsageError(f"{which!r} is no device: an index, a part of a name, a tosavk.Device or None")
    return str(which)


_opened: dict[tuple[str, str | bool | None], Device] = {}
_lock = threading.Lock()


def _forget() -> None:
    """In a process that was forked off: a driver's threads stay with the parent, and a lock may be held by one."""
    global _lock
    _lock = threading.Lock()
    _opened.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def find_device(which: Device | int | str | None, cache_dir: str | os.PathLike[str] | bool | None = None) -> Device:
    """An opened device; what was asked for once is opened once, so that networks and buffers of it go together."""
    if isinstance(which, Device):
        if cache_dir is not None:
            raise UsageError("a device that is open has its cache folder already")
        return which
    folder = cache_dir if cache_dir is None or isinstance(cache_dir, bool) else os.fspath(cache_dir)
    key = (_name_of(which), folder)
    with _lock:
        if key not in _opened:
            _opened[key] = Device(which, cache_dir=folder)
        return _opened[key]


@atexit.register
def _close() -> None:
    """Before the interpreter ends: no callback of the library may begin any more."""
    _native.close()
    _opened.clear()
