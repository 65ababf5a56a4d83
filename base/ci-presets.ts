// What the tokens of a CI system must match to act as an identity, derived from well-known facts of that system. The match is exact where
// possible; patterns are anchored and leave open only what cannot be known in advance. docs/guides/ci-identities explains each claim.

import { Fault } from "./fault.ts";

/** Facts that describe the jobs of a CI system. */
export interface PresetFacts {
  readonly issuer?: string;
  readonly ref?: string;
  readonly refType?: string;
  readonly environment?: string;
  readonly pullRequest?: boolean;
  readonly event?: string;
  readonly projectId?: string;
  readonly pipelineId?: string;
  readonly organizationId?: string;
  readonly awsRoleId?: string;
}

export const ciSystems = ["github", "gitlab", "kubernetes", "jenkins", "buildkite", "awsRole"] as const;
export type CiSystem = (typeof ciSystems)[number];

type ClaimMatch = { readonly issuer: string; readonly claims?: Readonly<Record<string, string>> } & (
  | { readonly subject: string }
  | { readonly subjectPattern: string }
);

type AwsMatch = { readonly awsAccount: string; readonly arnPattern: string; readonly userIdPattern: string };

/** The match of an identity, in JSON names, and a text that describes it. */
export interface Preset {
  readonly name: string;
  readonly match: { readonly claimMatch: ClaimMatch } | { readonly awsIdentity: AwsMatch };
}

/** What a fact is named in an error. */
export type FactName = CiSystem | keyof PresetFacts;

const problem = (field: FactName, description: string): Fault =>
  new Fault("INVALID_ARGUMENT", `${field} ${description}`, { details: [{ kind: "fields", violations: [{ field, description }] }] });

const literally = (literal: string): string => literal.replaceAll(/[\\^$.*+?()[\]{}|]/g, (character) => `\\${character}`);

const wholly = (pattern: string): string => `^${pattern}$`;

const parsed = (option: FactName, value: string, pattern: RegExp, form: string): RegExpExecArray => {
  const found = pattern.exec(value);
  if (found === null) throw problem(option, `must be ${form}, not ${JSON.stringify(value)}`);
  return found;
};

/** "main" as "refs/heads/main". */
const fullRef = (ref: string): string => (ref.startsWith("refs/") ? ref : `refs/heads/${ref}`);

const issuerOf = (issuer: string | undefined, otherwise: string): string => {
  const url = URL.parse(issuer ?? otherwise);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") throw problem("issuer", `must be an http or https URL, not ${JSON.stringify(issuer)}`);
  return issuer ?? otherwise;
};

const githubPreset = (repository: string, { issuer, ref, environment, pullRequest, event }: PresetFacts): Preset => {
  const [, owner = "", ownerId, repo = "", repoId] = parsed(
    "github",
    repository,
    /^([\w.-]+)(?:@(\d+))?\/([\w.-]+)(?:@(\d+))?$/,
    "OWNER/REPO, or OWNER@NUMBER/REPO@NUMBER",
  );
  if ((ownerId === undefined) !== (repoId === undefined)) throw problem("github", "must have both IDs or none: OWNER@NUMBER/REPO@NUMBER");
  const [job, where] =
    environment !== undefined
      ? [`environment:${environment}`, `environment ${environment}`]
      : pullRequest
        ? ["pull_request", "pull requests"]
        : ref !== undefined
          ? [`ref:${fullRef(ref)}`, ref]
          : [undefined, undefined];
  if (job === undefined) throw problem("github", "requires --ref, --environment or --pull-request, to select jobs of the repository");
  if (pullRequest && (ref !== undefined || environment !== undefined)) throw problem("pullRequest", "cannot be used with --ref or --environment");
  const started = event === "any" ? undefined : (event ?? (environment === undefined && !pullRequest ? "push" : undefined));
  const claims = {
    ...(repoId === undefined || ownerId === undefined ? {} : { repository_id: repoId, repository_owner_id: ownerId }),
    // In the subject, the environment replaces the branch.
    ...(environment !== undefined && ref !== undefined ? { ref: fullRef(ref) } : {}),
    ...(started === undefined ? {} : { event_name: started }),
  };
  // Both forms of the subject: with IDs, as in newer repositories, and without, if the claims contain them.
  const subject =
    repoId === undefined
      ? { subject: `repo:${owner}/${repo}:${job}` }
      : { subjectPattern: wholly(`repo:${literally(owner)}(?:@${ownerId})?/${literally(repo)}(?:@${repoId})?:${literally(job)}`) };
  return {
    name: `github ${owner}/${repo} ${where}`,
    match: { claimMatch: { issuer: issuerOf(issuer, "https://token.actions.githubusercontent.com"), ...subject, claims } },
  };
};

const gitlabPreset = (project: string, { issuer, ref, refType = "branch", projectId }: PresetFacts): Preset => {
  parsed("gitlab", project, /^[\w.-]+(?:\/[\w.-]+)+$/, "GROUP/PROJECT");
  if (ref === undefined) throw problem("gitlab", "requires --ref: a branch, or a tag with --ref-type tag");
  if (refType !== "branch" && refType !== "tag") throw problem("refType", `must be branch or tag, not ${JSON.stringify(refType)}`);
  const name = ref.replace(/^refs\/(?:heads|tags)\//, "");
  return {
    name: `gitlab ${project} ${name}`,
    match: {
      claimMatch: {
        issuer: issuerOf(issuer, "https://gitlab.com"),
        subject: `project_path:${project}:ref_type:${refType}:ref:${name}`,
        claims: { ...(projectId === undefined ? {} : { project_id: projectId }), ref_protected: "true" },
      },
    },
  };
};

const kubernetesPreset = (account: string, { issuer }: PresetFacts): Preset => {
  const [, namespace = "", name = ""] = parsed("kubernetes", account, /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/, "NAMESPACE/SERVICEACCOUNT");
  if (issuer === undefined) throw problem("kubernetes", "requires --issuer. To find it: kubectl get --raw /.well-known/openid-configuration | jq -r .issuer");
  return {
    name: `kubernetes ${account}`,
    match: { claimMatch: { issuer: issuerOf(issuer, ""), subject: `system:serviceaccount:${namespace}:${name}` } },
  };
};

const jenkinsPreset = (job: string, { issuer }: PresetFacts): Preset => {
  const url = URL.parse(job);
  const at = url?.pathname.indexOf("/job/") ?? -1;
  if (url === null || !/^https?:$/.test(url.protocol) || at < 0 || url.search + url.hash !== "")
    throw problem("jenkins", `must be the URL of a job, such as https://jenkins.example.com/job/shop/, not ${JSON.stringify(job)}`);
  return {
    name: `jenkins ${decodeURI(url.pathname.slice(at + 1))
      .replaceAll(/\/?job\//g, "/")
      .replace(/^\/|\/$/g, "")}`,
    match: {
      claimMatch: {
        issuer: issuerOf(issuer, `${url.origin}${url.pathname.slice(0, at)}/oidc`),
        // The plugin appends a slash.
        subject: job.endsWith("/") ? job : `${job}/`,
      },
    },
  };
};

const buildkitePreset = (pipeline: string, { ref, pipelineId, organizationId }: PresetFacts): Preset => {
  const [, organization = "", slug = ""] = parsed("buildkite", pipeline, /^([\w-]+)\/([\w-]+)$/, "ORG/PIPELINE");
  if (ref === undefined) throw problem("buildkite", "requires --ref: a branch");
  const branch = ref.replace(/^refs\/heads\//, "");
  const own = organizationId === undefined ? {} : { organization_id: organizationId };
  const issuer = "https://agent.buildkite.com";
  const name = `buildkite ${pipeline} ${branch}`;
  if (pipelineId !== undefined)
    return {
      name,
      match: { claimMatch: { issuer, subject: pipelineId, claims: { ...own, build_branch: branch } } },
    };
  return {
    name,
    match: {
      claimMatch: {
        issuer,
        // The rest after the branch differs per commit and step.
        subjectPattern: wholly(`${literally(`organization:${organization}:pipeline:${slug}:ref:refs/heads/${branch}:commit:`)}[0-9A-Za-z]+:step:[^:]*`),
        claims: { organization_slug: organization, pipeline_slug: slug, ...own, build_branch: branch },
      },
    },
  };
};

const awsPreset = (arn: string, { awsRoleId }: PresetFacts): Preset => {
  const [, partition = "", account = "", path = ""] = parsed(
    "awsRole",
    arn,
    /^arn:(aws[a-z-]*):iam::(\d{12}):role\/([\w+=,.@/-]+)$/,
    "the ARN of a role, such as arn:aws:iam::123456789012:role/deployer",
  );
  if (awsRoleId !== undefined) parsed("awsRoleId", awsRoleId, /^AROA[A-Z0-9]+$/, "a role ID such as AROA…");
  // The caller names the session, and no caller's ARN contains the role's path.
  const role = path.split("/").at(-1) ?? "";
  const session = "[\\w+=,.@-]+";
  return {
    name: `aws ${account} ${role}`,
    match: {
      awsIdentity: {
        awsAccount: account,
        arnPattern: wholly(`arn:${partition}:sts::${account}:assumed-role/${literally(role)}/${session}`),
        userIdPattern: wholly(`${awsRoleId ?? "AROA[A-Z0-9]+"}:${session}`),
      },
    },
  };
};

const presets: Readonly<Record<CiSystem, (value: string, options: PresetFacts) => Preset>> = {
  github: githubPreset,
  gitlab: gitlabPreset,
  kubernetes: kubernetesPreset,
  jenkins: jenkinsPreset,
  buildkite: buildkitePreset,
  awsRole: awsPreset,
};

/** Returns the match for the named jobs of a system. Throws INVALID_ARGUMENT with the field if a fact is missing or malformed. */
export const presetOf = (system: CiSystem, value: string, facts: PresetFacts): Preset => presets[system](value, facts);

/** Returns a text as the name of an identity can be. */
export const identityName = (description: string): string =>
  description
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ._-]+/g, "-")
    .slice(0, 100);
