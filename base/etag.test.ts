// Which tags a header names.

import assert from "node:assert/strict";
import { test } from "node:test";
import { matchesEtag } from "./etag.ts";

test("a tag is found in a list, weak or not, and by a star alone; a part of a tag and no header are none", () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', "*", " * "])
    assert.deepEqual([header, matchesEtag(header, '"a"'), matchesEtag(header, 'W/"a"')], [header, true, true]);
  for (const header of [undefined, "", '"A"', '"a', "a", '"b", "ab"', '"*"', '"b"'])
    assert.deepEqual([header, matchesEtag(header, '"a"'), matchesEtag(header, 'W/"a"')], [header, false, false]);
});
