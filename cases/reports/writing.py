"""Files of reports."""

from __future__ import annotations

from pathlib import Path

from arlequin.cases.reports.document import Document
from arlequin.cases.reports.page import page
from arlequin.results.writing import write_bytes, write_text


def write(document: Document, target: Path, also_pdf: bool = False) -> Path:
    """Write the report as an HTML page, or as PDF where `target` ends in .pdf; also_pdf: beside the page as well."""
    is_pdf = target.suffix.lower() == ".pdf"
    if is_pdf or also_pdf:
        from arlequin.cases.reports.pdf import pdf

        write_bytes(target if is_pdf else target.with_suffix(".pdf"), pdf(document))
    return target if is_pdf else write_text(target, page(document))
