"""The rules that are read off the syntax tree: each takes a module's name and source and returns what breaks it.

A package's own module is named `package.__init__`. Exceptions and their reasons are in `exceptions.py`.
"""

from __future__ import annotations

from typing import Callable

from tests.tidy import effect_rules, import_rules, shape_rules
from tests.tidy.source import Finding

Rule = Callable[[str, str], "list[Finding]"]

PACKAGE_RULES: tuple[Rule, ...] = (
    import_rules.import_direction,
    import_rules.late_imports,
    import_rules.everyday_imports,
    import_rules.standard_library_only,
    import_rules.chat_is_no_module,
    effect_rules.disk,
    effect_rules.reading,
    effect_rules.environment,
    effect_rules.printing,
    effect_rules.clock_and_ids,
    shape_rules.module_size,
    shape_rules.function_size,
    shape_rules.docstrings,
    shape_rules.deferred_annotations,
    shape_rules.silent_errors,
    shape_rules.catch_alls,
)
OTHER_RULES: tuple[Rule, ...] = (import_rules.chat_is_no_module, shape_rules.module_size)
RULES: dict[str, Rule] = {rule.__name__: rule for rule in PACKAGE_RULES}
