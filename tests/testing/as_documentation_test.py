"""What ./run doc makes of the comments in a header before Doxygen reads them."""

import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True
SPEC = importlib.util.spec_from_file_location(
    "as_documentation", os.path.join("tools", "doc", "as_documentation.py")
)
as_documentation = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(as_documentation)


class CommentsTest(unittest.TestCase):
    def made_of(self, *lines, **settings):
        made = list(as_documentation.documentation(lines, **settings))
        self.assertEqual(len(made), len(lines), "a warning would name the wrong line")
        return made

    def test_a_comment_before_a_declaration_documents_it(self):
        made = self.made_of("namespace a {", "// Reads.", "//", "  // Blocks.", "int read();")
        self.assertEqual(made[1:], ["/// Reads.", "///", "  /// Blocks.", "int read();"])

    def test_a_comment_behind_a_declaration_documents_it_with_the_lines_below(self):
        made = self.made_of(
            "int size = 0;  // bytes, holes",
            "               // included",
            "// Of another one.",
            "int other;",
        )
        self.assertEqual(made[0], "int size = 0;  ///< bytes, holes")
        self.assertEqual(made[1], "               ///< included")
        self.assertEqual(made[2:], ["/// Of another one.", "int other;"])

    def test_fields_of_one_type_share_the_comment_above_the_first(self):
        made = self.made_of(
            "  // Both.", "  std::optional<int> a = 1;", "  std::optional<int> b;", "  int c = 0;", "  int d;"
        )
        shared = "  std::optional<int> b;  ///< As the one above it."
        self.assertEqual(made[1:], ["  std::optional<int> a = 1;", shared, "  int c = 0;", "  int d;"])

    def test_what_a_header_begins_with_is_about_the_file(self):
        header = ["// Errors as values.", "#pragma once", "", "// An error.", "struct Error {"]
        self.assertEqual(self.made_of(*header)[:2], ["/// Errors as values.", "/// @file"])
        self.assertEqual(self.made_of(*header, about="@mainpage")[1], "/// @mainpage")
        self.assertEqual(self.made_of("#pragma once", "int a;"), ["", "int a;"])

    def test_indented_lines_are_code_and_nothing_in_them_is_escaped(self):
        made = self.made_of(
            "// Use it:", "//", "//   f(&a);", "//     g<b>();", "//", "// And so on.", "int f();"
        )
        self.assertEqual(made[2], "///@code{.cpp}f(&a);")
        self.assertEqual(made[3], "///  g<b>(); @endcode")
        self.assertEqual(made[5], "/// And so on.")

    def test_code_may_be_the_last_line_of_a_comment(self):
        made = self.made_of("// Use it:", "//", "//   f();", "int f();")
        self.assertEqual(made[2], "///@code{.cpp}f(); @endcode")

    def test_lines_of_an_item_that_go_on_are_no_code(self):
        made = self.made_of("//", "// - one, and", "//   more of it", "int f();")
        self.assertEqual(made[2], "///   more of it")

    def test_what_doxygen_takes_for_commands_is_escaped(self):
        made = self.made_of("// a->b, <x>, 5 % of #3, @c, \\xNN, --device", "int f();")
        self.assertEqual(made[0], r"/// a-\>b, \<x\>, 5 \% of \#3, \@c, \\xNN, \--device")

    def test_words_in_backticks_are_code_and_names_of_paragraphs_are_bold(self):
        made = self.made_of("//", "// Errors: `name` is a<b>.", "// Ratios: none.", "int f();")
        self.assertEqual(made[1], r"/// <b>Errors:</b> <code>name</code> is a\<b\>.")
        self.assertEqual(made[2], "/// Ratios: none.")

    def test_headings_of_the_source_stay_comments(self):
        heading = "// --- pack stripes ---"
        self.assertEqual(self.made_of("int a;", heading, "int b;")[1], heading)

    def test_special_members_without_a_comment_are_left_out(self):
        special = [
            "  Store(Store&&) noexcept;",
            "  Store& operator=(Store&&) noexcept;",
            "  Store(const Store&) = delete;",
            "  Store& operator=(const Store& other) = default;",
            "  ~Store();",
        ]
        self.assertEqual(self.made_of("class Store {", *special)[1:], [""] * len(special))

    def test_special_members_with_a_comment_and_all_others_stay(self):
        others = [
            "class Store {",
            "  // Waits.",
            "  ~Store();",
            "  Store(const Options& options);",
            "  bool operator==(const Store&) const = default;",
        ]
        self.assertEqual(self.made_of(*others)[2:], others[2:])


if __name__ == "__main__":
    unittest.main()
