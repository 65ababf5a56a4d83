// Attack 27: a claim match so wide that strangers fit it. Each public issuer below gives tokens to whoever opens an
// account there. The match is tried with what a stranger's token would say; where that fits, nothing tells their
// token from the owner's. It is a warning and no refusal: whoever may write it may mean it.

import { type JsonObject, part, text } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { compilePattern, matchingBudget, type MatchingBudget } from "#base/pattern.ts";

interface Stranger {
  /** Whose tokens are let in. */
  readonly who: string;
  readonly issuer: string;
  /** What their tokens say; undefined: whatever they like, in every claim. */
  readonly subjects: readonly string[] | undefined;
}

const uuid = "10203040-5060-4070-8090-a0b0c0d0e0f0";
const gitRefs = ["ref:refs/heads/main", "ref:refs/tags/v1.0.0", "pull_request", "environment:production"];

const strangers: readonly Stranger[] = [
  // First, since whoever runs an issuer can say all that the others say.
  { who: "any issuer at all", issuer: "https://issuer.somebody-else.example", subjects: undefined },
  {
    who: "any repository of GitHub Actions",
    issuer: "https://token.actions.githubusercontent.com",
    // With the numbers of owner and repository, as newer repositories have them, and without.
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
    // The second: with --subject-claim.
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

// Claims that everybody chooses for their own jobs: to demand one tells nobody apart.
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
/** Values that a stranger's claims have. */
const theirs = ["somebody-else", "somebody-else/anything", "somebody@somebody-else.example", "102030405060708090100", uuid];

const fits = (literal: string, pattern: string, values: readonly string[], budget: MatchingBudget): boolean => {
  if (literal !== "") return values.includes(literal === "accounts.google.com" ? "https://accounts.google.com" : literal);
  const matches = compilePattern(pattern);
  return matches !== undefined && values.some((value) => matches(value, budget));
};

/** Whether some claim besides the subject tells the owner's tokens from others'. */
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

/** What is wrong with a claim match that strangers fit, for the header Gantry-Warning; undefined: none of these do. */
export const widthWarning = (match: JsonObject): string | undefined => {
  // What is beyond the budget fits nobody, and is taken to tell apart, unseen.
  const budget = matchingBudget(limits.widthStepsMax);
  const stranger = strangers.find((each) => letsIn(match, each, budget));
  return stranger && `claim_match accepts tokens of ${stranger.who}; require an issuer, a subject or a claim that only your tokens have`;
};
