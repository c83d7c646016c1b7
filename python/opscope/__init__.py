# SPDX-License-Identifier: Apache-2.0
"""opscope: shows where the time of a Python program goes.

Record it from outside, with `opscope run python3 train.py` or `python3 -m opscope train.py`, or from inside:

    import opscope

    with opscope.record("train.opscope"):
        train()

In a notebook, `%load_ext opscope` and then `%%opscope` in a cell. Calls of Python functions are recorded by themselves;
what else is of interest can be marked up:

    with opscope.zone("load batch"):
        ...
    opscope.counter("queue length", n)
    opscope.signpost("epoch", "1")

While nothing is recorded, every one of these does nothing. None of them changes what the program does."""

from __future__ import annotations

import functools
import sys
import threading

from . import _start

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes longer than all of this
    import os
    from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

    from ._record import Recording

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = [
    "Profiler", "counter", "frame", "is_recording", "message", "op", "pause", "record", "resume", "signpost", "span",
    "start", "stop", "thread_name", "zone",
]  # fmt: skip

import os as _os

try:
    _native = _start.load_native(_os.path.dirname(__file__))
except ImportError:  # the recorder cannot be loaded
    _native = None


def _plain(text: object) -> str:
    """Whatever was given for a text, as one that can be written: no lone surrogates (names of files have them), no NUL.
    Only asked for what the recorder refuses."""
    try:
        whole = str(text)
    except Exception:  # of an object's own __str__
        whole = "<%s>" % type(text).__name__
    return whole.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")


def is_recording() -> bool:
    """True inside a session that is not paused."""
    return _native is not None and _native.is_recording()


def pause() -> None:
    """Stop recording, in all processes of the session, until resume(). Functions then cost what they cost without
    opscope. Outside a session this does nothing."""
    if _native is not None:
        _native.pause()


def resume() -> None:
    """Go on recording after pause(), or for the first time with `opscope run --paused`."""
    if _native is not None:
        _native.resume()


# Flags of a code object, as in inspect, whose import takes too long.
_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200


def _kind_of(function: object) -> int:
    code = getattr(function, "__code__", None)
    return getattr(code, "co_flags", 0) & (_GENERATOR | _COROUTINE | _ASYNC_GENERATOR)


class zone:
    """A zone for the time of a `with` block, or of each call of the function that it decorates: @zone, @zone(),
    @zone("name"). Without a name nothing is added where the function's calls are recorded anyhow. Of a coroutine or a
    generator that is the time until it is done, with all its waiting.

    A zone that is open while its function waits is shown twice: up to the first wait among the calls, and as a whole on
    a track of its own below that of the task."""

    __slots__ = ("name", "_open")

    def __new__(cls, name: Any = None) -> Any:
        if isinstance(name, (staticmethod, classmethod)):
            return type(name)(cls()(name.__func__))
        if isinstance(name, type):
            raise TypeError("opscope.%s decorates functions, not classes" % cls.__name__)
        return cls()(name) if callable(name) else super().__new__(cls)

    def __init__(self, name: Optional[str] = None):
        self.name = name
        self._open = []

    _begin = "zone_enter"  # of _native

    def __enter__(self) -> "zone":
        if _native is not None:
            begin = getattr(_native, self._begin)
            try:
                self._open.append(begin(self.name))
            except (TypeError, ValueError):
                self._open.append(begin("zone" if self.name is None else _plain(self.name)))
        return self

    def __exit__(self, *exception: object) -> None:
        if _native is not None:
            _native.scope_end(self._open.pop())

    def text(self, text: str) -> None:
        """More about the innermost open zone."""
        if _native is not None:
            _native.zone_text(text if type(text) is str and text.isascii() else _plain(text))

    def __call__(self, function: _Function) -> _Function:
        # Not "name": that of a frame that begins nothing but a task is taken for an import's.
        text = self.name if self.name is not None else getattr(function, "__qualname__", None) or _plain(function)
        made, kind, is_unnamed = type(self), _kind_of(function), self.name is None and type(self) is zone

        @functools.wraps(function)
        async def with_zone_of_coroutine(*args: Any, **kwargs: Any) -> Any:
            with made(text):
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def with_zone_of_generator(*args: Any, **kwargs: Any) -> Any:
            with made(text):
                return (yield from function(*args, **kwargs))

        @functools.wraps(function)
        async def with_zone_of_async_generator(*args: Any, **kwargs: Any) -> Any:
            generator = function(*args, **kwargs)
            with made(text):
                try:
                    value = await generator.__anext__()
                    while True:
                        try:
                            sent = yield value
                        except GeneratorExit:
                            raise
                        except BaseException as error:
                            value = await generator.athrow(error)
                        else:
                            value = await generator.asend(sent)
                except StopAsyncIteration:
                    pass
                finally:
                    await generator.aclose()

        @functools.wraps(function)
        def with_zone(*args: Any, **kwargs: Any) -> Any:
            if _native is None:
                return function(*args, **kwargs)
            try:
                number = _native.zone_begin_of(text, function) if is_unnamed else _native.zone_begin(text)
            except (TypeError, ValueError):
                number = _native.zone_begin(_plain(text))
            try:
                return function(*args, **kwargs)
            finally:
                _native.scope_end(number)

        wrappers = {
            _COROUTINE: with_zone_of_coroutine,
            _GENERATOR: with_zone_of_generator,
            _ASYNC_GENERATOR: with_zone_of_async_generator,
        }
        return wrappers.get(kind, with_zone)  # type: ignore[return-value]


class span(zone):
    """A zone that may last over what its thread does in between, such as a request of a server: `with` and
    `async with`. It is on a track of its own below that of its task (or thread), not among the calls."""

    __slots__ = ()

    _begin = "span_begin"

    async def __aenter__(self) -> "span":
        return self.__enter__()

    async def __aexit__(self, *exception: object) -> None:
        self.__exit__()


def message(text: str) -> None:
    """A line of text at this moment (opscope messages)."""
    if _native is not None:
        try:
            _native.message(text)
        except (TypeError, ValueError):
            _native.message(_plain(text))


def signpost(header: str, message: Optional[str] = None) -> None:
    """A named moment that reports can start or stop at, and a row of the op table. With --start-signpost and
    --stop-signpost of that name, recording does."""
    if _native is None:
        return
    if header == _start.stop_signpost:
        _Window.set_open(False)
    try:
        _native.signpost(header, message)
    except (TypeError, ValueError):  # python -m tracy takes whatever can be printed
        _native.signpost(_plain(header), None if message is None else _plain(message))
    if header == _start.start_signpost:
        _Window.set_open(True)


def counter(name: str, value: float) -> None:
    """A value that changes over time."""
    if _native is not None:
        try:
            _native.counter(name, value)
        except (TypeError, ValueError):
            _native.counter(_plain(name), value)


def frame(name: str = "frame") -> None:
    """The end of one frame, step or iteration of that name."""
    if _native is not None:
        try:
            _native.frame(name)
        except (TypeError, ValueError):
            _native.frame(_plain(name))


def thread_name(name: str) -> None:
    """How this thread's row is called. Threads made with threading.Thread have theirs already."""
    if _native is not None:
        try:
            _native.thread_name(name)
        except (TypeError, ValueError):
            _native.thread_name(_plain(name))


class _Recording:
    """How many want calls to be recorded; the hook is installed while there are any."""

    lock = threading.Lock()
    count = 0
    is_reported = False

    @classmethod
    def change(cls, by: int) -> None:
        """With the lock held."""
        before, cls.count = cls.count, cls.count + by
        if not before:
            try:
                _native.start(_start.flags)
            except RuntimeError as error:  # no hook can be had: never the program's trouble
                if not cls.is_reported:
                    sys.stderr.write("opscope: Python calls are not recorded: %s\n" % error)
                cls.is_reported = True
        elif not cls.count:
            _native.stop()

    @classmethod
    def end(cls) -> None:
        """Whoever wants calls to be recorded: the recording is over."""
        with cls.lock:
            if cls.count:
                _native.stop()
            cls.count = Profiler._depth = 0
            _Window.is_open = cls.is_reported = False


class _Window:
    """Between --start-signpost and --stop-signpost."""

    is_open = False

    @classmethod
    def set_open(cls, is_open: bool) -> None:
        with _Recording.lock:
            if cls.is_open != is_open:
                cls.is_open = is_open
                _Recording.change(1 if is_open else -1)


if (
    _native is not None
    and _start.native is not None
    and _native.has_session()  # else a recording was over when this module was loaded again
    and not _start.is_partial
    and _start.start_signpost is None
):
    _Window.is_open, _Recording.count = True, 1  # since the process started, or that recording


_joined = 0  # recordings that were asked for in a process that `opscope run` records
_is_reported = False


def _join(path: object) -> "Recording":
    """start() in a process of a run: there is a trace already. Calls are recorded as with a Profiler."""
    global _joined, _is_reported
    from . import _record

    if path is not None and not _is_reported:
        sys.stderr.write("opscope: this process is being recorded already: no trace %s of its own\n" % (path,))
        _is_reported = True
    _joined += 1
    Profiler().enable()
    return _record.Recording(None)


def start(path: "Optional[str | os.PathLike]" = None, **options: Any) -> "Recording":
    """Starts recording this process, and the children that it starts from now on, into the trace `path` (default: one
    that is named after the program, in the working folder). stop() ends it; so does the end of the process.

    Options are those of `python3 -m opscope`: lines, c_calls, gc, no_async, import_frames, mine (True), include,
    exclude (a text or a list), max_depth (a number), start_signpost, stop_signpost; and those of the collector:
    min_duration ("10us"), buffer_size ("64M"), max_size, on_full ("drop" or "wait"); and devices ("auto"; "cuda", "nvtx",
    "opencl", "none"), as of `opscope run`: also of a program that uses CUDA already.

    RuntimeError when this process is recording already. In a process that `opscope run` records, calls are recorded
    into the trace of that run, as with a Profiler, and no other trace is written.

    A function that is already running when recording starts is not shown itself, only what it calls."""
    from . import _record

    native = _record.native_or_raise(_native)
    with _record.lock:
        if _record.active is not None:
            raise RuntimeError("opscope is recording already, into %s: stop() ends that" % _record.active.path)
        if _record.is_in_session(native):
            return _join(path)
        recording = _record.begin(native, path, dict(options))
        _record.active = recording
        if not _start.is_partial and _start.start_signpost is None:
            _Window.set_open(True)
    if not _record.is_registered:
        _record.at_exit(stop)
    return recording


def stop() -> "Recording":
    """Ends what start() began, waits until the trace is written, and returns its Recording: path, zones, seconds ..."""
    global _joined
    from . import _record

    with _record.lock:
        recording = _record.active
        if recording is None and not _joined:
            raise RuntimeError("opscope is not recording: start() has not been called")
        if recording is None:
            _joined -= 1
            Profiler().disable()
            return _record.Recording(None)
        _Recording.end()
        _record.active = None
        return _record.finish(_native, recording)


class record:
    """Records a `with` block into a trace; the options are those of start(). The trace is written when the block ends,
    also by an exception. `as` gives the Recording, whose figures are there after the block.

        with opscope.record("train.opscope", mine=True) as recording:
            train()
        print(recording.path, recording.zones)
    """

    def __init__(self, path: "Optional[str | os.PathLike]" = None, **options: Any):
        if callable(path):
            self(path)
        self.path, self.options, self._recording = path, options, None

    def __call__(self, function: object) -> None:
        """A function that is called twice would replace its trace, and one that calls itself cannot record twice."""
        raise TypeError("opscope.record is not a decorator: `with opscope.record(...):` goes around the call of the function")

    def __enter__(self) -> "Recording":
        self._recording = start(self.path, **self.options)
        return self._recording

    def __exit__(self, *exception: object) -> None:
        from . import _record

        recording, self._recording = self._recording, None
        if recording.pid == _os.getpid() and (recording.path is None or _record.active is recording):
            stop()  # not in a forked child, and not when the block has called stop() itself


class Profiler:
    """Records Python calls between enable() and disable(), where the run was started with -p; may be nested. Without
    -p all calls are recorded anyway, and outside a session none are: then it does nothing.

    Also a context manager and a decorator. Enable it around the call that matters, not inside the called function:
    a function that is already running when recording starts is not shown itself."""

    _depth = 0  # of all profilers together, as with sys.setprofile

    def enable(self) -> None:
        if _start.is_partial and _native is not None:
            with _Recording.lock:
                Profiler._depth += 1
                _Recording.change(1)

    def disable(self) -> None:
        if _start.is_partial and _native is not None:
            with _Recording.lock:
                if Profiler._depth:
                    Profiler._depth -= 1
                    _Recording.change(-1)

    def __enter__(self) -> "Profiler":
        self.enable()
        return self

    def __exit__(self, *exception: object) -> None:
        self.disable()

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        async def with_profiler_of_coroutine(*args: Any, **kwargs: Any) -> Any:
            with self:
                return await function(*args, **kwargs)

        if _kind_of(function) == _COROUTINE:
            return with_profiler_of_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def with_profiler(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return with_profiler  # type: ignore[return-value]


def _description(tensor: Any) -> Tuple[Tuple[int, ...], Optional[str], Optional[str]]:
    """Shape, data type and device of whatever has them (arrays of the array API), else by DLPack."""
    shape, dtype, device = (getattr(tensor, name, None) for name in ("shape", "dtype", "device"))
    if shape is None and hasattr(tensor, "__dlpack__"):
        return _native.dlpack(tensor.__dlpack__())
    return (
        tuple(int(size) for size in shape or ()),
        None if dtype is None else str(dtype).rsplit(".", 1)[-1].upper(),
        None if device is None or callable(device) else str(device),
    )


class op:
    """One call of an accelerator operation, for the time of a `with` block. Tensors are whatever has shape and dtype
    (arrays of the array API, torch and NumPy alike), or __dlpack__. One that cannot be described is shown as the name
    of its type.

        with opscope.op("matmul", inputs=[a, b], attributes={"fidelity": "HiFi4"}) as call:
            c = a @ b
            call.output(c)
    """

    TYPES = {"device": 0, "host": 1, "fallback": 2}

    def __init__(
        self,
        name: str,
        inputs: Iterable[Any] = (),
        outputs: Iterable[Any] = (),
        attributes: Optional[dict] = None,
        type: str = "host",
        device: int = 0,
    ):
        if type not in self.TYPES:
            raise ValueError("type of an op is device, host or fallback, not %r" % (type,))
        self.name, self.inputs, self.outputs = name, tuple(inputs), tuple(outputs)
        self.attributes, self.type, self.device = attributes or {}, type, device
        self.call_id = 0
        self._number = 0

    def __enter__(self) -> "op":
        if _native is not None:
            self._number, self.call_id = _native.op_begin(_plain(self.name), self.TYPES[self.type], self.device)
            if self._number:
                for tensor in self.inputs:
                    self._tensor(False, tensor)
                for key, value in self.attributes.items():
                    _native.op_attribute(_plain(key), _plain(value))
        return self

    def output(self, tensor: Any) -> None:
        """A result that is known only inside the block."""
        if self._number:
            self._tensor(True, tensor)

    def _tensor(self, is_output: bool, tensor: Any) -> None:
        try:
            shape, dtype, device = _description(tensor)
            _native.op_tensor(is_output, shape, dtype, None, device)
        except Exception:  # sizes that are not numbers yet, more than 16 of them, released memory ...
            _native.op_tensor(is_output, (), type(tensor).__name__, None, None)

    def __exit__(self, *exception: object) -> None:
        if self._number:
            for tensor in self.outputs:
                self._tensor(True, tensor)
            _native.scope_end(self._number)
            self._number = 0


def load_ipython_extension(shell: Any) -> None:
    """%load_ext opscope"""
    from . import _notebook

    _notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    from . import _notebook

    _notebook.unload(shell)
