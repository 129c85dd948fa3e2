"""Command line: `arlequin COMMAND`, see `arlequin --help` for the commands.

Exit codes: 0 success, 1 failure or failed check, 2 usage error. Errors caused by the user are reported in one line.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from arlequin.cases.cli import actions, outputs
from arlequin.cases.cli.tables import print_line, version
from arlequin.models import limits
from arlequin.models.errors import UserError
from arlequin.models.parallel.launch import announced, announced_index, leave_others
from arlequin.run.interrupts import pending

EPILOG = "`arlequin run CASE --help` lists the parameters of a case. CASE is a name or a path to a Python file."

DEBUG = "ARLEQUIN_DEBUG"
COMPARE_TEXT = "then run the models that the case compares it with, as `arlequin compare` does"
_MODERATE = "use less extreme parameters"

SPREAD = ("run", "check", "resume")  # commands on several ranks; read-only ones run on the first rank
_ALONE = {
    "sweep": "run it without mpiexec, it starts its own processes (--workers, --scheduler)",
    "compare": "run it without mpiexec",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # characters missing on the terminal are replaced
    # zarr's tasks: asyncio would log their errors a second time
    logging.getLogger("asyncio").addHandler(logging.NullHandler())
    if not sys.warnoptions:  # warnings of libraries are shown with python -W default
        warnings.simplefilter("ignore")
        warnings.filterwarnings("default", message="CHOLMOD is not available")
    limits.limit_memory()
    if announced() > 1 and announced_index() > 0:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, until the process ends
    try:
        with pending(), _shared_errors():
            code = _dispatch(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse, after --help
        return int(stop.code or 0)
    except UserError as error:
        return _report(str(error), error.code)
    except KeyboardInterrupt:
        return _report("interrupted", 1)
    except BrokenPipeError:  # closed pipe, as in `arlequin cases | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except MemoryError as error:
        return _report(f"not enough memory: {error}" if str(error) else "not enough memory", 1)
    except ArithmeticError as error:  # overflow or underflow
        _print_traceback(error)
        return _report(f"numerical overflow or underflow ({error.args[-1]}): {_MODERATE}", 1)
    except OSError as error:
        file_prefix = f"{error.filename}: " if error.filename else ""
        return _report(f"{file_prefix}{error.strerror or error}", 1)
    except Exception as error:
        _print_traceback(error)
        description = " ".join(f"{type(error).__name__}: {error}".split())
        return _report(f"internal error ({description[:300]}): please report it; set {DEBUG}=1 for the traceback", 1)


@contextlib.contextmanager
def _shared_errors() -> Iterator[None]:
    """Context in which an exception on one rank is raised on all ranks."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if announced() > 1:
            from arlequin.models.parallel.ranks import ranks

            with contextlib.suppress(UserError):  # without mpi4py
                ranks().fails(error)
        raise


def _prints_errors() -> bool:
    """Whether this rank prints the error of the command."""
    if announced() == 1:
        return True
    from arlequin.models.parallel.ranks import ranks

    try:
        return ranks().speaks
    except UserError:  # without mpi4py
        return announced_index() == 0


def _print_traceback(error: Exception) -> None:
    """Print the traceback if ARLEQUIN_DEBUG is set."""
    if os.environ.get(DEBUG) and _prints_errors():
        traceback.print_exception(error)


def _report(line: str, code: int) -> int:
    if _prints_errors():
        print_line(line)
    return code


def _dispatch(argv: list[str]) -> int:
    """Parse the arguments and call the action of the command."""
    parser = _parser()
    arguments, remaining = parser.parse_known_args(argv)
    # argparse returns positional words after an option as unknown
    unknown = [word for word in remaining if word.startswith("-") or not hasattr(arguments, "words")]
    if unknown:
        raise UserError(f"{unknown[0]}: no such option or argument; see `arlequin {arguments.command or ''} --help`")
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return 2
    if announced() > 1 and arguments.command not in SPREAD:
        if arguments.command in _ALONE:
            raise UserError(f"{arguments.command}: not on {announced()} ranks: {_ALONE[arguments.command]}")
        leave_others()
        if announced_index() > 0:
            return 0
    if hasattr(arguments, "words"):
        arguments.words = [*arguments.words, *remaining]
        if arguments.help:
            return _help(arguments)
    return int(arguments.action(arguments))


def _help(arguments: argparse.Namespace) -> int:
    """Print the help of the named case, else of the command."""
    case_names = [word for word in arguments.words if "=" not in word]
    if case_names:
        return int(arguments.describe(case_names[0], arguments.parser.usage))
    arguments.parser.print_help()
    return 0


class _Parser(argparse.ArgumentParser):
    """ArgumentParser whose errors are UserErrors."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{message}; see `{self.prog} --help`")


class _Version(argparse.Action):
    """Print the version."""

    def __call__(self, *_: object) -> NoReturn:
        print(f"arlequin {version('arlequin')}")
        raise SystemExit(0)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="arlequin",
        description="Contact dynamics with models of different resolution coupled by the Arlequin method.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    listing = commands.add_parser("cases", help="list the built-in cases", allow_abbrev=False)
    listing.set_defaults(action=actions.cases)
    new = commands.add_parser("new", help="write a template of a case", allow_abbrev=False)
    new.add_argument("path", metavar="FILE", help="Python file to write, such as my_study.py")
    new.set_defaults(action=actions.new)
    _add_run(
        commands, actions.run, "run a case", "default: runs/CASE.zarr, overwritten by each run", compare=COMPARE_TEXT,
        report="then write the report, as an HTML page and as PDF, beside the result",
        all="print all parameters and statistics, not only those given and the main ones",
    )  # fmt: skip
    _add_run(commands, actions.check, "run a case and compare it with its reference", "default: not stored")
    _add_compare(commands)
    _add_sweep(commands)
    resume = commands.add_parser("resume", help="resume an interrupted run", allow_abbrev=False)
    resume.add_argument("path", metavar="RESULT", help="result of the interrupted run")
    _add_case(resume)
    resume.set_defaults(action=actions.resume)
    show = commands.add_parser("show", help="summarise a result or sweep; installed versions", allow_abbrev=False)
    show.add_argument(
        "path", metavar="RESULT", nargs="?", help="result or sweep; without it only the versions are shown"
    )
    _add_member(show)
    show.set_defaults(action=actions.show)
    plot = commands.add_parser("plot", help="plot a result or sweep as PNG files", allow_abbrev=False)
    plot.add_argument("path", metavar="RESULT")
    _add_case(plot)
    _add_member(plot)
    _add_view(plot)
    plot.add_argument("--to", metavar="DIR", help="folder for the figures (default: beside the result)")
    plot.set_defaults(action=outputs.plot)
    animate = commands.add_parser("animate", help="animate a result as a GIF or MP4 file", allow_abbrev=False)
    animate.add_argument("path", metavar="RESULT")
    animate.add_argument(
        "--out", metavar="FILE", help="GIF file, or MP4 file if ffmpeg is installed (default: GIF beside the result)"
    )
    animate.add_argument(
        "--field", metavar="NAME", default="displacement", help="field shown by colours (default: %(default)s)"
    )
    animate.add_argument(
        "--component", metavar="NAME", help="component of the field, such as y or xx (default: length of the vector)"
    )
    animate.add_argument(
        "--magnify", metavar="X", help="magnification of the displacement (default: 1; larger for beams)"
    )
    _add_member(animate)
    _add_view(animate)
    animate.add_argument("--frames", metavar="N", default="60", help="largest number of frames (default: %(default)s)")
    animate.set_defaults(action=outputs.animate)
    view = commands.add_parser("view", help="view a result in 3D, in a window or a browser", allow_abbrev=False)
    view.add_argument("path", metavar="RESULT")
    view.add_argument("--html", metavar="FILE", help="write a page for any browser (else a window: needs PyVista)")
    view.add_argument("--field", metavar="NAME", help="field shown first (default: velocity)")
    view.add_argument("--magnify", metavar="X", help="magnification of the displacement (default: 1; larger for beams)")
    view.add_argument("--frames", metavar="N", default="60", help="largest number of frames (default: %(default)s)")
    _add_member(view)
    _add_view(view)
    view.set_defaults(action=outputs.view)
    report = commands.add_parser("report", help="write a result or sweep as one HTML page, or PDF", allow_abbrev=False)
    report.add_argument("path", metavar="RESULT")
    _add_case(report)
    _add_member(report)
    _add_view(report)
    report.add_argument("--out", metavar="FILE", help="HTML file, or PDF by its ending (default: beside the result)")
    report.add_argument("--pdf", action="store_true", help="write it as PDF as well")
    report.set_defaults(action=outputs.report)
    export = commands.add_parser("export", help="export to ParaView or netCDF", allow_abbrev=False)
    export.add_argument("path", metavar="RESULT")
    _add_member(export)
    export.add_argument("--vtu", metavar="DIR", help="folder for VTU and PVD files (ParaView)")
    export.add_argument("--netcdf", metavar="FILE", help="netCDF file with the whole result")
    export.add_argument("--frames", metavar="N", help="largest number of VTU frames, evenly spaced (default: all)")
    export.set_defaults(action=outputs.export)
    return parser


def _add_case(parser: argparse.ArgumentParser) -> None:
    text = "case file of the result (default: the file named in it, if you have run this version of it)"
    parser.add_argument("--case", metavar="FILE", help=text)


def _add_member(parser: argparse.ArgumentParser) -> None:
    text = "member of the result of an ensemble, from 0 (default: all, where they can be shown together)"
    parser.add_argument("--member", metavar="N", help=text)


def _add_view(parser: argparse.ArgumentParser) -> None:
    text = "side from which solids are seen: contact, front, top, isometric, x, ... or ELEVATION,AZIMUTH in degrees"
    parser.add_argument("--view", metavar="SIDE", help=f"{text} ; --view=-x with a sign (default: that of the contact)")


def _add_run(
    commands: argparse._SubParsersAction[_Parser],
    action: Callable[[argparse.Namespace], int],
    text: str,
    default_out: str,
    **flags: str,
) -> None:
    """Add the command of an action; flags: help texts of additional flags, by name."""
    name = action.__name__
    options = {f"--{option}": what for option, what in flags.items()}
    parser = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        usage=f"arlequin {name} CASE [name=value ...] [--out PATH] "
        + " ".join(f"[{option}]" for option in ("--stress", *options, "--force")),
        epilog=EPILOG.replace(" run ", f" {name} "),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("words", metavar="CASE name=value", nargs="*", help="case and its parameters")
    parser.add_argument("--out", metavar="PATH", help=f"result folder ({default_out})")
    text = "record stresses of solids and bars by cell, and section forces of beams"
    parser.add_argument("--stress", action="store_true", help=text)
    parser.add_argument("--force", action="store_true", help="overwrite an existing result")
    for option, help_text in options.items():
        parser.add_argument(option, action="store_true", help=help_text)
    parser.add_argument("-h", "--help", action="store_true", help="show this help, or the parameters of CASE if given")
    parser.set_defaults(parser=parser, action=action, describe=actions.describe)


def _add_compare(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "compare",
        help="run the models that a result is compared with",
        description="Run the models that the checks and figures of the case compare a result with, such as the "
        "all-fine model, and store them in the result, where `plot` and `report` find them. Stored ones are not run "
        "again; interrupted ones are resumed.",
        allow_abbrev=False,
    )
    parser.add_argument("path", metavar="RESULT")
    _add_case(parser)
    parser.add_argument("--force", action="store_true", help="run also those that are stored")
    parser.set_defaults(action=actions.compare)


def _add_sweep(commands: argparse._SubParsersAction[_Parser]) -> None:
    parser = commands.add_parser(
        "sweep",
        help="run a parameter sweep of a case",
        description="Run a case for several values of its parameters. The scalars form an xarray Dataset. "
        "Each point is stored when finished; repeating the command computes only the missing points.",
        usage="arlequin sweep CASE name=a,b,c name=lo:hi:n [name=value ...] [--out PATH] [--workers N] "
        "[--scheduler ADDRESS] [--errors] [--series PATH,...] [--retry] [--force]",
        epilog="lo:hi:n gives n evenly spaced values from lo to hi, lo:hi:n:log geometrically spaced ones. "
        + EPILOG.replace(" run ", " sweep "),
        add_help=False,
        allow_abbrev=False,
    )
    parser.add_argument("words", metavar="CASE name=values", nargs="*", help="case and its parameters")
    parser.add_argument("--out", metavar="PATH", help="sweep folder (default: runs/CASE.sweep)")
    parser.add_argument("--workers", metavar="N", help="number of local processes (default: number of cores)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler, such as tcp://host:8786")
    parser.add_argument("--errors", action="store_true", help="include the errors of the checks of the case")
    parser.add_argument("--series", metavar="PATH,...", help="time series to store, such as interface/contact/force")
    parser.add_argument("--retry", action="store_true", help="repeat failed points")
    parser.add_argument("--force", action="store_true", help="overwrite an existing sweep")
    parser.add_argument("-h", "--help", action="store_true", help="show this help, or the parameters of CASE if given")
    parser.set_defaults(parser=parser, action=actions.sweep, describe=actions.describe_sweep)


if __name__ == "__main__":
    sys.exit(main())
