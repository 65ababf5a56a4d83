import assert from "node:assert/strict";
import { test } from "node:test";
import { notHttps } from "./not-https.ts";

test("the error for a plain HTTP URL names GANTRY_EGRESS_ALLOW; other URLs must be https", () => {
  assert.match(notHttps(URL.parse("http://login.example.com")), /^must be an https URL; http is for private addresses .* GANTRY_EGRESS_ALLOW$/);
  for (const address of ["ftp://login.example.com", "login.example.com"]) assert.equal(notHttps(URL.parse(address)), "must be an https URL");
});
