// Hosts that an issuer pattern contains literally.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "#base/fault.ts";
import { isNamedHost, issuerPatternProblem, readIssuerHosts } from "./issuer-hosts.ts";

const none = readIssuerHosts("");

/** Accepted patterns, each with a host that it allows and one that it does not. */
const taken: readonly (readonly [pattern: string, host: string, other: string])[] = [
  ["https://ci\\.example\\.com", "ci.example.com", "other.example.com"],
  ["https://ci[.]example[.]com/.*", "ci.example.com", "example.com"],
  ["^https://ci\\.example\\.com(?:/.*)?$", "ci.example.com", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com(/a|/b)", "ci.example.com", "evil.net"],
  ["https://ci\\.example\\.com:\\d+/.*", "ci.example.com", "evil.net"],
  ["https:\\/\\/ci\\.example\\.com\\/.*", "ci.example.com", "evil.net"],
  ["https?://ci\\.example\\.com/?", "ci.example.com", "evil.net"],
  ["https://CI\\.Example\\.com", "ci.example.com", "evil.net"],
  ["https://xn--bcher-kva\\.example", "xn--bcher-kva.example", "evil.net"],
  ["http://127\\.0\\.0\\.1:\\d+", "127.0.0.1", "127.0.0.2"],
  ["https://a\\.example\\.com|https://b\\.example\\.org/.*", "b.example.org", "c.example.org"],
  ["https://[a-z]+\\.example\\.com", "any.example.com", "anyexample.com"],
  ["https://.*\\.example\\.com", "a.b.example.com", "evil.net"],
  ["https://(a|b)\\.example\\.co\\.uk/x", "a.example.co.uk", "a.example.org.uk"],
  ["https://oidc\\.eks\\.[a-z0-9-]+\\.amazonaws\\.com/id/[A-F0-9]+", "oidc.eks.eu-west-1.amazonaws.com", "evil.net"],
  ["https://ci[0-9]*\\.example\\.com", "ci7.example.com", "evil.net"],
];
for (const [pattern, host, other] of taken)
  test(`the pattern ${pattern} is accepted, allowing ${host} and not ${other}`, () => {
    assert.equal(issuerPatternProblem(pattern, none), undefined);
    assert.deepEqual([isNamedHost(pattern, host, none), isNamedHost(pattern, other, none)], [true, false]);
  });

/** Each with a host that RE2 would match. */
const refused: readonly (readonly [pattern: string, host: string])[] = [
  [".*", "evil.net"],
  ["https://.*", "evil.net"],
  ["https://.+/id", "evil.net"],
  ["https://ci.example.com", "ci-example.com"],
  ["https://ci\\.example\\.com.*", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com(/.*)?.*", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com(?:|\\.evil\\.net)", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com/?[^/]*", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com(/?\\.evil\\.net)", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com[/.].*", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com/{0}\\.evil.*", "ci.example.com.evil.net"],
  ["https://[a-z]+example\\.com", "evilexample.com"],
  ["https://[a-z]+\\.com", "evil.com"],
  ["https://[a-z]+\\.co\\.uk", "evil.co.uk"],
  ["https://[a-z]+\\.github\\.io", "evil.github.io"],
  ["https://token\\.actions\\..*", "token.actions.evil.net"],
  ["https://ci\\.example\\.com|https://.*", "evil.net"],
  ["https://ci\\.example\\.com|", "evil.net"],
  ["(https://ci\\.example\\.com|https://.*)", "evil.net"],
  ["(?i)https://ci\\.example\\.com", "ci.example.org"],
  ["https://\\Qci.example.com\\E.*", "ci.example.com.evil.net"],
  ["https://ci\\.example\\.com$|.*", "evil.net"],
  ["[^ ]*https://ci\\.example\\.com", "evil.net"],
  ["http?://ci\\.example\\.com", "evil.net"],
  ["https://", "evil.net"],
  ["https://[", "evil.net"],
  ["https://(", "evil.net"],
];
for (const [pattern, host] of refused)
  test(`the pattern ${pattern} is refused with a description, and allows no host`, () => {
    assert.match(issuerPatternProblem(pattern, none) ?? "", /^must name the host of its issuers.*GANTRY_ISSUER_HOSTS$/);
    assert.equal(isNamedHost(pattern, host, none), false);
  });

test("the operator's list adds single hosts, and wildcards for hosts below a name", () => {
  const listed = readIssuerHosts(" ci.example.com, *.github.io ");
  assert.equal(issuerPatternProblem("https://[a-z]+\\.github\\.io", listed), undefined);
  assert.equal(isNamedHost("https://[a-z]+\\.github\\.io", "team.github.io", listed), true);
  assert.notEqual(issuerPatternProblem("https://.*", listed), undefined);
  assert.deepEqual(
    ["ci.example.com", "team.github.io", "github.io", "evil.net"].map((host) => isNamedHost("https://.*", host, listed)),
    [true, true, false, false],
  );
});

for (const list of ["https://ci.example.com", "*", "ci..", "a b", "ci.example.com:443"])
  test(`GANTRY_ISSUER_HOSTS=${list} stops the start with one line`, () => {
    assert.throws(
      () => readIssuerHosts(list),
      (error: unknown) => error instanceof Fault && /^GANTRY_ISSUER_HOSTS: .* is not a host\. Example: /.test(error.message),
    );
  });
