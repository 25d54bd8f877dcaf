"""Hidden grader: a number range must not end before it begins."""

import unittest

import click


class RangeOrder(unittest.TestCase):
    def test_a_range_that_ends_before_it_begins_is_refused(self):
        for kind in (click.IntRange, click.FloatRange):
            with self.subTest(kind=kind.__name__), self.assertRaises(ValueError):
                kind(min=5, max=1)

    def test_proper_and_half_open_ranges_still_work(self):
        self.assertEqual(click.IntRange(1, 5).convert("3", None, None), 3)
        self.assertEqual(click.IntRange(min=1).convert("3", None, None), 3)
        self.assertEqual(click.FloatRange(2, 2).convert("2", None, None), 2.0)


if __name__ == "__main__":
    unittest.main()
