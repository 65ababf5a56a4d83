// Help in narrow terminals, as tables.

import assert from "node:assert/strict";
import { test } from "node:test";
import { narrow } from "./narrow.ts";

const help = `gantry import KIND SOURCE… [--group GROUP] [--licence ID]

  Fills the server from files, folders and addresses of many
  kinds; a second run writes nothing.

    --group GROUP  the group that it is for, by its uid or its
                   path of names
    --public       the open operations show it too

  A paragraph that fits,
  as it is.

  Examples:
    gantry import advisories https://security-tracker.example.com/data/json
`;

test("in a narrow terminal a line is broken between words and goes on below its text; examples and what fits stay as they are", () => {
  assert.equal(
    narrow(help, 48),
    `gantry import KIND SOURCE… [--group GROUP]
    [--licence ID]

  Fills the server from files, folders and
  addresses of many kinds; a second run writes
  nothing.

    --group GROUP  the group that it is for, by
                   its uid or its path of names
    --public       the open operations show it
                   too

  A paragraph that fits,
  as it is.

  Examples:
    gantry import advisories https://security-tracker.example.com/data/json
`,
  );
});

test("text far to the right goes on below what it explains", () => {
  assert.equal(
    narrow("    --oidc-additional-scopes TEXT,…  Scopes to ask for besides openid.\n", 50),
    "    --oidc-additional-scopes TEXT,…\n      Scopes to ask for besides openid.\n",
  );
});

test("a wide terminal, a pipe and one too narrow for words get the help as it is written", () => {
  for (const columns of [200, undefined, 12]) assert.equal(narrow(help, columns), help);
});
