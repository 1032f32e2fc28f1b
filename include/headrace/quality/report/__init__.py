"""The page a person sees: one self-contained HTML file per verdict."""

from headrace.quality.report.page import report_page as report_page
