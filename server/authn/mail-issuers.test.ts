// GANTRY_MAIL_ISSUERS: issuers trusted for email claims, by domain.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { readMailIssuers, speaksForMail } from "./mail-issuers.ts";

const list = readMailIssuers(
  " https://login.example.com/realm=a = Example.com | example.org , https://accounts.google.com=*," +
    "http://127.0.0.1:8080=a.example,http://127.0.0.1:8080=b.example,",
);

for (const [issuer, email, expected] of [
  ["https://login.example.com/realm=a", "ada@example.com", true],
  ["https://login.example.com/realm=a", "ada@EXAMPLE.ORG", true],
  ["https://login.example.com/realm=a/", "ada@example.com", false],
  ["https://login.example.com", "ada@example.com", false],
  ["https://login.example.com/realm=a", "ada@sub.example.com", false],
  ["https://login.example.com/realm=a", "ada@example.com.", false],
  ["https://login.example.com/realm=a", "ada@evil@example.com", false],
  ["https://login.example.com/realm=a", "example.com", false],
  ["https://login.example.com/realm=a", "@example.com", false],
  ["https://login.example.com/realm=a", "", false],
  ["https://login.example.com/realm=a", "*@*", false],
  ["https://accounts.google.com", "ada@anything.example", true],
  ["accounts.google.com", "ada@anything.example", true],
  ["accounts.google.com", "", false],
  ["http://127.0.0.1:8080", "ada@a.example", true],
  ["http://127.0.0.1:8080", "ada@b.example", true],
  ["http://127.0.0.1:8080", "ada@exam\u212aple.com", false],
] as const)
  test(`${issuer} ${expected ? "speaks" : "does not speak"} for ${JSON.stringify(email)}`, () => assert.equal(speaksForMail(list, issuer, email), expected));

test("without a list no issuer is trusted", () => {
  assert.equal(readMailIssuers("").size, 0);
  assert.equal(speaksForMail(readMailIssuers(""), "https://login.example.com", "ada@example.com"), false);
});

for (const [entry, why] of [
  ["https://login.example.com", 'names no domains ("=*" for every one)'],
  ["https://login.example.com=", "is not a domain"],
  ["https://login.example.com=example.com|", "is not a domain"],
  ["https://login.example.com=*|example.com", "is not a domain"],
  ["https://login.example.com=*.example.com", "is not a domain"],
  ["https://login.example.com=localhost", "is not a domain"],
  ["https://login.example.com=ex ample.com", "is not a domain"],
  ["login.example.com=example.com", "names no issuer"],
  ["=example.com", "names no issuer"],
  ["ftp://login.example.com=example.com", "names no issuer"],
  ["https://login.example.com?a=example.com", "names no issuer"],
  ["https://user@login.example.com=example.com", "names no issuer"],
] as const)
  test(`GANTRY_MAIL_ISSUERS=${entry} stops the start with one line`, () => {
    assert.throws(
      () => readMailIssuers(`https://fine.example.com=example.com,${entry}`),
      (error: unknown) => error instanceof Fault && /^GANTRY_MAIL_ISSUERS: [^\n]*$/.test(error.message) && error.message.includes(why),
    );
  });
