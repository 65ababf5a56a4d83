// Converts GitHub's expressions of affected versions (">= 1.0, < 1.5", "= 1.2.3", "<= 2.0") to OSV.

import { limits } from "../limits.ts";
import { orderOf } from "./ecosystem.ts";
import { compareSemver, nextSemver, parseSemver } from "./semver.ts";

type AffectedEvent = { readonly introduced: string } | { readonly fixed: string } | { readonly last_affected: string };

/** Events of one range, a list of versions, or the reason why there is neither. */
export type GithubAffected = { readonly events: readonly AffectedEvent[] } | { readonly versions: readonly string[] } | { readonly reason: string };

const comparatorForm = /^(>=|<=|[=<>])[ \t]*([^ \t=<>]+)$/;

/**
 * Converts an expression. `firstPatched` is GitHub's first patched version: with it, "<= 2.0" ends at the patch, as in GitHub's
 * own OSV records, and "= 1.2" extends to it.
 */
export const githubAffected = (ecosystem: string, expression: string, firstPatched = ""): GithubAffected => {
  if (expression.length > limits.versionLengthMax) return { reason: `an expression of more than ${limits.versionLengthMax} characters` };
  const bounds = new Map<string, string>();
  for (const each of expression.split(",")) {
    const [, operator = "", version = ""] = comparatorForm.exec(each.trim()) ?? [];
    if (version === "") return { reason: `${JSON.stringify(each.trim())} is not a version comparison` };
    const side = operator[0] ?? "";
    if (bounds.has(side)) return { reason: `two comparisons with ${side}` };
    bounds.set(side, operator + version);
  }
  const [exact, lower, upper] = [bounds.get("="), bounds.get(">"), bounds.get("<")];
  if (exact !== undefined) {
    if (bounds.size > 1) return { reason: "= combined with another comparison" };
    const version = exact.slice(1);
    return firstPatched === "" ? { versions: [version] } : { events: [{ introduced: version }, { fixed: firstPatched }] };
  }
  const introduced = lower === undefined ? "0" : lower.startsWith(">=") ? lower.slice(2) : nextVersion(ecosystem, lower.slice(1));
  if (introduced === undefined) return { reason: `${lower} begins behind a version, and which one follows it is not known` };
  if (upper === undefined) return { events: [{ introduced }, ...(firstPatched === "" ? [] : [{ fixed: firstPatched }])] };
  if (!upper.startsWith("<=")) return { events: [{ introduced }, { fixed: upper.slice(1) }] };
  return { events: [{ introduced }, firstPatched === "" ? { last_affected: upper.slice(2) } : { fixed: firstPatched }] };
};

const nextVersion = (ecosystem: string, version: string): string | undefined => {
  const parsed = orderOf(ecosystem) === compareSemver ? parseSemver(version) : undefined;
  return parsed && parsed.numbers.length <= 3 ? nextSemver(parsed) : undefined;
};
