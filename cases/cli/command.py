"""The command line: `arlequin cases | new | run | resume | check | sweep | show | plot | animate | report | export`.

Exit codes: 0 done, 1 failed or out of tolerance, 2 wrong usage. Whatever a user can do ends in one line.
"""

from __future__ import annotations

import argparse
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import NoReturn

from arlequin.cases.cli import actions, outputs
from arlequin.cases.cli.tables import print_line, version
from arlequin.models import limits
from arlequin.models.errors import UserError
from arlequin.run.interrupts import pending

EPILOG = "`arlequin run CASE --help` lists the parameters of a case. CASE is a name or a path to a Python file."

DEBUG = "ARLEQUIN_DEBUG"
_MODERATE = "give less extreme parameters"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without θ or ≤ shows a mark
    # of zarr's tasks, whose errors asyncio says again when they are collected
    logging.getLogger("asyncio").addHandler(logging.NullHandler())
    if not sys.warnoptions:  # what goes wrong is said in one line; python -W default shows the libraries' warnings
        warnings.simplefilter("ignore")
    limits.limit_memory()
    try:
        with pending():
            code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or 0)
    except UserError as error:
        return _say(str(error), error.code)
    except KeyboardInterrupt:
        return _say("interrupted", 1)
    except BrokenPipeError:  # the reader of our output has gone, as in `arlequin cases | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except MemoryError as error:
        return _say(f"not enough memory: {error}" if str(error) else "not enough memory", 1)
    except ArithmeticError as error:  # from numbers near the ends of what floats can hold
        _show(error)
        return _say(f"numbers are too large or too small to compute with ({error.args[-1]}): {_MODERATE}", 1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _say(f"{where}{error.strerror or error}", 1)
    except Exception as error:
        _show(error)
        why = " ".join(f"{type(error).__name__}: {error}".split())
        return _say(f"internal error ({why[:300]}): please report it; {DEBUG}=1 in the environment shows where", 1)


def _show(error: Exception) -> None:
    """The traceback of an error, where it is asked for."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)


def _say(line: str, code: int) -> int:
    print_line(line)
    return code


def _dispatch(argv: list[str]) -> int:
    """Read the arguments and do what they say."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    # argparse takes positional words in one run only; those after an option come back here
    unknown = [word for word in rest if word.startswith("-") or not hasattr(arguments, "words")]
    if unknown:
        raise UserError(f"{unknown[0]}: no such option or argument; see `arlequin {arguments.command or ''} --help`")
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    if hasattr(arguments, "words"):
        arguments.words = [*arguments.words, *rest]
        if arguments.help:
            return _help(arguments)
    return int(arguments.action(arguments))


def _help(arguments: argparse.Namespace) -> int:
    """Help on a case where one is named, else on the command."""
    names = [word for word in arguments.words if "=" not in word]
    if names:
        return int(arguments.describe(names[0], arguments.parser.usage))
    arguments.parser.print_help()
    return 0


class _Parser(argparse.ArgumentParser):
    """argparse that ends in our one line."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see `{self.prog} --help`")


class _Version(argparse.Action):
    """Look the version up only when it is asked for."""

    def __call__(self, *_: object) -> NoReturn:
        print(f"arlequin {version('arlequin')}")
        raise SystemExit(0)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="arlequin", description="Multi-level contact with glued models.", epilog=EPILOG)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and stop")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    listing = commands.add_parser("cases", help="list the cases", allow_abbrev=False)
    listing.set_defaults(action=actions.cases)
    new = commands.add_parser("new", help="write a study to start from", allow_abbrev=False)
    new.add_argument("path", metavar="FILE", help="the Python file to write, such as my_study.py")
    new.set_defaults(action=actions.new)
    _add_run(commands, actions.run, "run a case", "default runs/CASE.zarr, replaced each time")
    _add_run(commands, actions.check, "run a case and compare it with its reference", "default: not kept")
    _add_sweep(commands)
    resume = commands.add_parser("resume", help="go on with a run that was stopped", allow_abbrev=False)
    resume.add_argument("path", metavar="RESULT", help="its result, which has its last checkpoint")
    _add_case(resume)
    resume.set_defaults(action=actions.resume)
    show = commands.add_parser("show", help="summary of a result or sweep, versions, BLAS", allow_abbrev=False)
    show.add_argument("path", metavar="RESULT", nargs="?", help="a result; without it, only versions and BLAS")
    show.set_defaults(action=actions.show)
    plot = commands.add_parser("plot", help="figures of a result or sweep as PNG files", allow_abbrev=False)
    plot.add_argument("path", metavar="RESULT")
    _add_case(plot)
    plot.add_argument("--to", metavar="DIR", help="folder of the figures (default: beside the result)")
    plot.set_defaults(action=outputs.plot)
    animate = commands.add_parser("animate", help="the motion of a result as a GIF or MP4 file", allow_abbrev=False)
    animate.add_argument("path", metavar="RESULT")
    animate.add_argument(
        "--out", metavar="FILE", help="a .gif, or an .mp4 where ffmpeg is (default: beside the result)"
    )
    animate.add_argument("--field", metavar="NAME", default="displacement", help="what the colours show (%(default)s)")
    animate.add_argument("--magnify", metavar="X", help="factor of the displacement (default: 1; more for beams)")
    animate.add_argument("--frames", metavar="N", default="60", help="at most so many (%(default)s)")
    animate.set_defaults(action=outputs.animate)
    report = commands.add_parser("report", help="one HTML page of a result or sweep, to keep", allow_abbrev=False)
    report.add_argument("path", metavar="RESULT")
    _add_case(report)
    report.add_argument("--out", metavar="FILE", help="the page (default: beside the result)")
    report.set_defaults(action=outputs.report)
    export = commands.add_parser("export", help="files for ParaView, netCDF", allow_abbrev=False)
    export.add_argument("path", metavar="RESULT")
    export.add_argument("--vtu", metavar="DIR", help="folder of VTU and PVD files, for ParaView")
    export.add_argument("--netcdf", metavar="FILE", help="a netCDF file of the whole result")
    export.add_argument("--frames", metavar="N", help="of VTU: at most so many, spread evenly (default: all)")
    export.set_defaults(action=outputs.export)
    return parser


def _add_case(parser: argparse.ArgumentParser) -> None:
    text = "run this case file (default: that of the result, where you have run it here as it is)"
    parser.add_argument("--case", metavar="FILE", help=text)


def _add_run(
    commands: argparse._SubParsersAction[_Parser], action: Callable[[argparse.Namespace], int], text: str, where: str
) -> None:
    name = action.__name__
    parser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        usage=f"arlequin {name} CASE [name=value ...] [--out PATH] [--force]",
        epilog=EPILOG.replace(" run ", f" {name} "),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("words", metavar="CASE name=value", nargs="*", help="a case and its parameters")
    parser.add_argument("--out", metavar="PATH", help=f"where the result goes ({where})")
    parser.add_argument("--force", action="store_true", help="replace a result that exists")
    parser.add_argument("-h", "--help", action="store_true", help="show this help, or the parameters of CASE")
    parser.set_defaults(parser=parser, action=action, describe=actions.describe)


def _add_sweep(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "sweep",
        help="run a case over its parameters",
        description="Run a case over its parameters: an xarray Dataset of its scalars, each point kept when finished. "
        "Started again, only what is missing is computed.",
        usage="arlequin sweep CASE name=a,b,c name=lo:hi:n [name=value ...] [--out PATH] [--workers N] "
        "[--scheduler ADDRESS] [--errors] [--series PATH,...] [--retry] [--force]",
        epilog="lo:hi:n are n values from lo to hi, evenly spread; lo:hi:n:log geometrically. "
        + EPILOG.replace(" run ", " sweep "),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("words", metavar="CASE name=values", nargs="*", help="a case and its parameters")
    parser.add_argument("--out", metavar="PATH", help="folder of the sweep (default runs/CASE.sweep)")
    parser.add_argument("--workers", metavar="N", help="processes of this machine (default: as many as cores)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to run on, as tcp://host:8786")
    parser.add_argument("--errors", action="store_true", help="the errors of the case's checks too")
    parser.add_argument("--series", metavar="PATH,...", help="arrays along time to keep, as interface/contact/force")
    parser.add_argument("--retry", action="store_true", help="compute again the points that failed")
    parser.add_argument("--force", action="store_true", help="replace a sweep that exists")
    parser.add_argument("-h", "--help", action="store_true", help="show this help, or the parameters of CASE")
    parser.set_defaults(parser=parser, action=actions.sweep, describe=actions.describe_sweep)


if __name__ == "__main__":
    sys.exit(main())
