import assert from "node:assert/strict";
import { test } from "node:test";
import { notHttps } from "./not-https.ts";

test("of an address with plain http it is said by whose word it would be taken; of others that they are no https URLs", () => {
  assert.match(notHttps(URL.parse("http://login.example.com")), /^must be an https URL; http is for private addresses .* GANTRY_EGRESS_ALLOW$/);
  for (const address of ["ftp://login.example.com", "login.example.com"]) assert.equal(notHttps(URL.parse(address)), "must be an https URL");
});
