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
            for a software driver, a part of a device's name, or a `DeviceInfo`.
        uuid, luid: hexadecimal digits as of `DeviceInfo.uuid`, or 16 and 8 bytes; None: any.
        vendor_id: Vulkan's number of the vendor; 0: any.
        type: ``"discrete"``, ``"integrated"``, ``"virtual"`` or ``"cpu"``; None: any. All conditions must hold.
        ordinal: which of the devices that fit, best first.
        cache_dir: folder of the disk cache of shaders; None: as the environment says (``$TOSAVK_CACHE_DIR``, else
            ``~/.cache/tosa-vk``); False: no cache.

    Raises:
        NoDeviceError: there is no such device.
    """

    def __init__(
        self,
        which: int | str | DeviceInfo | None = None,
        *,
        uuid: str | bytes | None = None,
        luid: str | bytes | None = None,
        vendor_id: int = 0,
        type: str | None = None,
        ordinal: int = 0,
        cache_dir: str | os.PathLike[str] | bool | None = None,
    ) -> None:
        name = _name_of(which)
        if type is not None and not (isinstance(type, str) and type in _TYPES):
            raise UsageError(f"{type!r} is no type of device: {', '.join(_TYPES)}")
        for what, number in (("vendor_id", vendor_id), ("ordinal", ordinal)):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**32:
                raise UsageError(f"{what} is a number from 0 to 2^32 - 1, not {number!r}")
        if uuid is None and isinstance(which, DeviceInfo):
            uuid = which.uuid  # another device may have its number by now
        conditions = (_id("uuid", uuid, 16), _id("luid", luid, 8), vendor_id, _TYPES.get(type or "", 0), ordinal)
        folder = None if cache_dir is None or isinstance(cache_dir, bool) else os.fsencode(cache_dir)
        if cache_dir is True:
            raise UsageError("cache_dir is a folder, None or False")
        self._native = _native.Device.open(name, *conditions, folder, cache_dir is False)

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


DeviceLike = Device | DeviceInfo | int | str | None
"""What chooses a device, by `Device`'s first argument, or is one."""

_TYPES = {"discrete": 1, "integrated": 2, "virtual": 3, "cpu": 4}  # tosavk_device_type


def _id(what: str, given: str | bytes | None, size: int) -> bytes:
    if given is None:
        return b""
    try:
        number = bytes.fromhex(given.replace("-", "")) if isinstance(given, str) else bytes(memoryview(given))
    except (TypeError, ValueError):
        number = b""
    if len(number) != size:
        raise UsageError(f"{given!r} is no {what}: {2 * size} hexadecimal digits, or {size} bytes")
    return number


def _name_of(which: int | str | DeviceInfo | None) -> str:
    if which is None:
        return ""
    if isinstance(which, DeviceInfo):
        return str(which.index)
    if isinstance(which, bool) or not isinstance(which, (int, str)):
        raise UsageError(f"{which!r} is no device: an index, a part of a name, a DeviceInfo, a tosavk.Device or None")
    if "\0" in str(which):
        raise UsageError(f"{which!r} is no part of a name")
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


def find_device(which: DeviceLike, cache_dir: str | os.PathLike[str] | bool | None = None) -> Device:
    """An opened device; what was asked for once is opened once, so that networks and buffers of it go together."""
    if isinstance(which, Device):
        if cache_dir is not None:
            raise UsageError("a device that is open has its cache folder already")
        return which
    folder = cache_dir if cache_dir is None or isinstance(cache_dir, bool) else os.fspath(cache_dir)
    key = (_name_of(which), folder)
    with _lock:
        if key not in _opened:
            device = Device(which, cache_dir=folder)
            _opened[key] = _opened.setdefault((_uuid_of(device) or key[0], folder), device)
        return _opened[key]


def _uuid_of(device: Device) -> str | None:
    """By which it is the same device, whatever it was asked for by; None: there are several that are alike."""
    alike = [info.uuid for info in devices() if (info.name, info.driver) == (device.name, device.driver)]
    return f"uuid {alike[0]}" if len(alike) == 1 else None


@atexit.register
def _close() -> None:
    """Before the interpreter ends: no thread may be within the library then, nor a callback of it in Python."""
    _native.close(threading.active_count() > 1)
    _opened.clear()
