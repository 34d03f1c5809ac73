"""A network served by Ray actors, one for each Vulkan device of each machine. (`pip install tosavk ray`.)

    service = Service("network.tflite")        # in a coroutine
    scores = await service(image)              # in any coroutine of the same loop; many at once

Requests wait in one queue. Each actor takes as many as there are, at most `most`, and has them under way on its device
at once; while it works, more gather, so that batches grow with the load. An actor that dies gives its requests back to
the queue, for the others, and is started again by Ray.
"""

from __future__ import annotations

import asyncio
import collections
import os
from pathlib import Path
from typing import Any

import numpy as np
import ray
import tosavk
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

TRIES = 3  # a request that was there when so many actors died is what kills them


@ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=0)
class Worker:
    """Runs one network on one Vulkan device."""

    def __init__(self, network: bytes, device: int) -> None:
        self._fast = tosavk.load(network).compile(device=device)

    def about(self) -> tuple[str, int]:
        """The device's name and the process that this is."""
        return self._fast.device.name, os.getpid()

    def run(self, batch: list[tuple[Any, ...]]) -> list[Any]:
        """What the network gives for the inputs of each request, or the exception that it gets."""

        def attempt(call: Any, *arguments: Any) -> Any:
            try:
                return call(*arguments)
            except (tosavk.Error, ValueError, TypeError) as error:
                return error

        runs = [attempt(self._fast.submit, *inputs) for inputs in batch]
        return [run if isinstance(run, Exception) else attempt(run.result) for run in runs]


@ray.remote(num_cpus=0)
def devices_here() -> list[int]:
    """The indices of this machine's Vulkan devices that are no CPU; all where there is no other."""
    found = tosavk.devices()
    return [d.index for d in found if d.type != "cpu"] or [d.index for d in found]


def all_devices() -> list[tuple[str, int]]:
    """The cluster's Vulkan devices, each as the machine's id and the device's index there."""
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
    asked = [devices_here.options(scheduling_strategy=on_node(node)).remote() for node in nodes]
    return [(node, index) for node, indices in zip(nodes, ray.get(asked), strict=True) for index in indices]


def on_node(node: str) -> NodeAffinitySchedulingStrategy:
    return NodeAffinitySchedulingStrategy(node, soft=False)


class Request:
    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.inputs = inputs
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.tries = 0


class Service:
    """Made and called within one asyncio loop.

    Args:
        network: what `tosavk.load` takes; a file is read here and sent to the machines.
        devices: (machine, index) for each actor, several of one device too; None: `all_devices()`.
        most: requests that an actor has at once.
    """

    def __init__(
        self, network: str | Path | bytes, devices: list[tuple[str, int]] | None = None, most: int = 16
    ) -> None:
        data = network if isinstance(network, bytes) else Path(network).read_bytes()
        self._network = ray.put(data)  # kept, for actors that start again
        self._most = most
        self._waiting: collections.deque[Request] = collections.deque()
        self._changed = asyncio.Condition()
        self._closed = False
        self.actors = [
            Worker.options(scheduling_strategy=on_node(node)).remote(self._network, index)
            for node, index in (all_devices() if devices is None else devices)
        ]
        if not self.actors:
            raise tosavk.NoDeviceError("no machine of the cluster has a Vulkan device")
        self.answered = [0] * len(self.actors)  #: requests, by actor
        self.deaths = [0] * len(self.actors)
        self._serving = [asyncio.create_task(self._serve(k)) for k in range(len(self.actors))]

    async def __call__(self, *inputs: Any) -> Any:
        """The network's outputs for one request's inputs.

        Raises:
            tosavk.Error, ValueError, TypeError: what the network says to the inputs.
            RuntimeError: no actor is left, or each that took the request died.
        """
        request = Request(inputs)
        await self._put([request])
        return await request.answer

    async def close(self) -> None:
        """Ends the actors. Requests that are not answered fail."""
        self._closed = True
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        for actor in self.actors:
            ray.kill(actor)
        self._fail_waiting("the service was closed")

    async def _put(self, requests: list[Request]) -> None:
        async with self._changed:
            if self._closed or all(task.done() for task in self._serving):
                self._waiting.extend(requests)
                return self._fail_waiting("the service has no actor")
            if requests[0].tries:
                self._waiting.extendleft(reversed(requests))
            else:
                self._waiting.extend(requests)
            self._changed.notify_all()

    def _fail_waiting(self, why: str) -> None:
        while self._waiting:
            answer = self._waiting.popleft().answer
            if not answer.done():
                answer.set_exception(RuntimeError(why))

    async def _take(self) -> list[Request]:
        async with self._changed:
            while True:
                while self._waiting and self._waiting[0].answer.done():  # nobody waits for it any more
                    self._waiting.popleft()
                if self._waiting:  # what an actor died with goes alone, so that no other shares its fate twice
                    most = 1 if self._waiting[0].tries else min(self._most, len(self._waiting))
                    return [self._waiting.popleft() for _ in range(most)]
                await self._changed.wait()

    async def _serve(self, k: int) -> None:
        """Hands requests to an actor for as long as it lives."""
        batch: list[Request] = []
        try:
            while True:
                batch = await self._take()
                try:
                    results = await self.actors[k].run.remote([request.inputs for request in batch])
                except ray.exceptions.RayActorError:
                    self.deaths[k] += 1
                    await self._give_back(batch)
                    batch = []
                    if not await self._lives_again(k):
                        return
                    continue
                for request, result in zip(batch, results, strict=True):
                    if request.answer.done():
                        continue
                    if isinstance(result, Exception):
                        request.answer.set_exception(result)
                    else:
                        request.answer.set_result(result)
                self.answered[k] += len(batch)
                batch = []
        finally:  # the service is closed, the actor is gone, or Ray has failed
            for request in batch:
                if not request.answer.done():
                    request.answer.set_exception(RuntimeError("the actor that had the request is gone"))
            others = [task for n, task in enumerate(self._serving) if n != k]
            if all(task.done() for task in others):
                self._fail_waiting("the service has no actor any more")

    async def _give_back(self, batch: list[Request]) -> None:
        for request in batch:
            request.tries += 1
            if request.tries == TRIES and not request.answer.done():
                request.answer.set_exception(RuntimeError(f"{TRIES} actors died with the request"))
        left = [request for request in batch if not request.answer.done()]
        if left:
            await self._put(left)

    async def _lives_again(self, k: int) -> bool:
        """Waits until Ray has started the actor again; False where its machine is gone, or it cannot begin."""
        while True:
            try:
                await self.actors[k].about.remote()
                return True
            except ray.exceptions.ActorUnavailableError:
                await asyncio.sleep(0.05)
            except ray.exceptions.RayActorError:
                return False


def as_array(value: Any) -> np.ndarray:
    """The first output, where a network has several."""
    return np.asarray(value[0] if isinstance(value, tuple | list) else value)
