// Help in narrow terminals.

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

test("a narrow terminal wraps between words and aligns continuation lines; examples and short lines stay unchanged", () => {
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

test("text far to the right wraps below its term", () => {
  assert.equal(
    narrow("    --oidc-additional-scopes TEXT,…  Scopes to ask for besides openid.\n", 50),
    "    --oidc-additional-scopes TEXT,…\n      Scopes to ask for besides openid.\n",
  );
});

test("a wide terminal, a pipe and a terminal too narrow for words get the help unchanged", () => {
  for (const columns of [200, undefined, 12]) assert.equal(narrow(help, columns), help);
});
