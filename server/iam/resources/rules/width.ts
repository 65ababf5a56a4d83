// Attack 27: warns of a claim match that accepts tokens of unrelated keysByCaller. The public issuers below issue tokens to any account.
// The match is tested with such tokens; if one fits, the owner's tokens are indistinguishable from it. Only a warning, since it may be
// intended.

import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { compilePattern, matchingBudget, type MatchingBudget } from "#base/pattern.ts";

interface Stranger {
  readonly who: string;
  readonly issuer: string;
  /** Subjects of their tokens; undefined: they control every claim. */
  readonly subjects: readonly string[] | undefined;
}

const uuid = "10203040-5060-4070-8090-a0b0c0d0e0f0";
const gitRefs = ["ref:refs/heads/main", "ref:refs/tags/v1.0.0", "pull_request", "environment:production"];

const strangers: readonly Stranger[] = [
  // First, because the owner of an issuer can set every claim.
  { who: "any issuer at all", issuer: "https://issuer.somebody-else.example", subjects: undefined },
  {
    who: "any repository of GitHub Actions",
    issuer: "https://token.actions.githubusercontent.com",
    // With and without the IDs of owner and repository, which newer repositories have.
    subjects: ["somebody-else/anything", "somebody-else@102030/anything@405060"].flatMap((repo) => gitRefs.map((ref) => `repo:${repo}:${ref}`)),
  },
  {
    who: "any project of gitlab.com",
    issuer: "https://gitlab.com",
    subjects: ["branch:ref:main", "tag:ref:v1.0.0"].map((ref) => `project_path:somebody-else/anything:ref_type:${ref}`),
  },
  { who: "any Google account", issuer: "https://accounts.google.com", subjects: ["102030405060708090100"] },
  {
    who: "any organization of Buildkite",
    issuer: "https://agent.buildkite.com",
    // The second one is set by --subject-claim.
    subjects: ["organization:somebody-else:pipeline:anything:ref:refs/heads/main:commit:0123456789abcdef0123456789abcdef01234567:step:build", uuid],
  },
  {
    who: "any workspace of HCP Terraform",
    issuer: "https://app.terraform.io",
    subjects: ["organization:somebody-else:project:anything:workspace:anything:run_phase:apply"],
  },
  { who: "any organization of CircleCI", issuer: `https://oidc.circleci.com/org/${uuid}`, subjects: [`org/${uuid}/project/${uuid}/user/${uuid}`] },
  {
    who: "any workspace of Bitbucket Pipelines",
    issuer: "https://api.bitbucket.org/2.0/workspaces/somebody-else/pipelines-config/identity/oidc",
    subjects: [`{${uuid}}:{${uuid}}`, `{${uuid}}:{${uuid}}:{${uuid}}`],
  },
  { who: "any tenant of Microsoft Entra", issuer: `https://login.microsoftonline.com/${uuid}/v2.0`, subjects: undefined },
  {
    who: "any cluster of Google Kubernetes Engine",
    issuer: "https://container.googleapis.com/v1/projects/somebody-else/locations/us-central1/clusters/anything",
    subjects: undefined,
  },
  { who: "any cluster of Amazon EKS", issuer: "https://oidc.eks.us-east-1.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF", subjects: undefined },
];

// Claims that any tenant can choose: requiring them excludes none.
const chosen: ReadonlySet<string> = new Set([
  "aud",
  "base_ref",
  "build_branch",
  "build_source",
  "deployment_tier",
  "email_verified",
  "environment",
  "environment_protected",
  "event_name",
  "head_ref",
  "iss",
  "pipeline_source",
  "ref",
  "ref_protected",
  "ref_type",
  "repository_visibility",
  "runner_environment",
  "run_attempt",
  "run_phase",
  "workflow",
]);
const theirs = ["somebody-else", "somebody-else/anything", "somebody@somebody-else.example", "102030405060708090100", uuid];

const fits = (literal: string, pattern: string, values: readonly string[], budget: MatchingBudget): boolean => {
  if (literal !== "") return values.includes(literal === "accounts.google.com" ? "https://accounts.google.com" : literal);
  const matches = compilePattern(pattern);
  return matches !== undefined && values.some((value) => matches(value, budget));
};

/** True if a claim other than the subject distinguishes the owner's tokens. */
const tellsApart = (match: JsonObject, budget: MatchingBudget): boolean => {
  if (Object.keys(part(match, "claims")).some((name) => !chosen.has(name))) return true;
  const patterns = Object.entries(part(match, "claimPatterns")).filter(([name]) => !chosen.has(name));
  return patterns.length > limits.widthPatternsMax || patterns.some(([, pattern]) => !fits("", String(pattern), theirs, budget));
};

const letsIn = (match: JsonObject, { issuer, subjects }: Stranger, budget: MatchingBudget): boolean => {
  if (!fits(text(match, "issuer"), text(match, "issuerPattern"), [issuer], budget)) return false;
  if (subjects === undefined) return true;
  return fits(text(match, "subject"), text(match, "subjectPattern"), subjects, budget) && !tellsApart(match, budget);
};

/** Returns the Gantry-Warning of a claim match that accepts unrelated tokens; undefined if none of these fit. */
export const widthWarning = (match: JsonObject): string | undefined => {
  // Matching beyond the budget counts as distinguishing.
  const budget = matchingBudget(limits.widthStepsMax);
  const stranger = strangers.find((each) => letsIn(match, each, budget));
  return stranger && `claim_match accepts tokens of ${stranger.who}; require an issuer, a subject or a claim that only your tokens have`;
};
