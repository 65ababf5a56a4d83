// `gantry iam identities create --github acme/shop --ref main`: derives an identity's match from well-known facts of a CI system.
// It matches exactly where possible; patterns are anchored and leave open only what cannot be known in advance.
// docs/guides/ci-identities explains each claim.

import { type Command, Option } from "commander";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { exitStatus, wrongUsage } from "../exit-status.ts";
import { onOneLine } from "../output/escape.ts";
import type { BuiltRequest } from "./request.ts";
import type { Session } from "./session.ts";
import type { CommandShape } from "./shape.ts";
import { runCall, type WriteOptions } from "./write.ts";

export interface PresetOptions {
  readonly github?: string;
  readonly gitlab?: string;
  readonly kubernetes?: string;
  readonly jenkins?: string;
  readonly buildkite?: string;
  readonly awsRole?: string;
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
  readonly role?: readonly string[];
}

/** The match of an identity, and remarks for its creator. */
interface Preset {
  readonly name: string;
  /** claimMatch or awsIdentity, in JSON names. */
  readonly match: JsonObject;
  readonly remarks: readonly string[];
}

const createIdentity = "chainguard.platform.iam.v2.IdentitiesService/CreateIdentity";

export const takesPresets = ({ name }: MethodFact): boolean => name === createIdentity;

const systems = ["github", "gitlab", "kubernetes", "jenkins", "buildkite", "awsRole"] as const;
type System = (typeof systems)[number];

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const optionsOf: Readonly<Record<System, readonly (keyof PresetOptions)[]>> = {
  github: ["issuer", "ref", "environment", "pullRequest", "event"],
  gitlab: ["issuer", "ref", "refType", "projectId"],
  kubernetes: ["issuer"],
  jenkins: ["issuer"],
  buildkite: ["ref", "pipelineId", "organizationId"],
  awsRole: ["awsRoleId"],
};

const withListed = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  ...value.split(",").filter((each) => each !== ""),
];

/** Adds the flags that `iam identities create` has in addition to its fields. */
export const addPresetOptions = (command: Command): void => {
  for (const [flags, says] of [
    ["--github <OWNER/REPO>", "GitHub Actions jobs of this repository; with IDs (acme@4000001/shop@700000001), of no other one"],
    ["--gitlab <GROUP/PROJECT>", "GitLab CI jobs of this project"],
    ["--kubernetes <NAMESPACE/ACCOUNT>", "Pods with this service account; requires --issuer, the cluster's issuer"],
    ["--jenkins <URL>", "Builds of the Jenkins job at this URL"],
    ["--buildkite <ORG/PIPELINE>", "Jobs of this Buildkite pipeline"],
    ["--aws-role <ARN>", "Workloads with this AWS role"],
    ["--issuer <URL>", "Issuer of the tokens (default: the system's own address)"],
    ["--ref <REF>", "Branch (main or refs/heads/main) or tag (refs/tags/v1)"],
    ["--ref-type <TYPE>", "GitLab: branch or tag (default: branch)"],
    ["--environment <NAME>", "GitHub: jobs that use this environment"],
    ["--event <NAME>", "GitHub: event that started the workflow, or any (default: push with --ref)"],
    ["--project-id <NUMBER>", "GitLab: project ID, to exclude a later project with the same name"],
    ["--pipeline-id <ID>", "Buildkite: pipeline ID, to exclude a later pipeline with the same name"],
    ["--organization-id <ID>", "Buildkite: organization ID"],
    ["--aws-role-id <ID>", "AWS: role ID (AROA…), to exclude a later role with the same name"],
  ] as const)
    command.option(flags, says);
  command.option("--pull-request", "GitHub: jobs of pull requests");
  command.addOption(new Option("--role <ROLE,…>", "Also bind the identity to these roles in its group").argParser(withListed));
};

const literally = (literal: string): string => literal.replaceAll(/[\\^$.*+?()[\]{}|]/g, (character) => `\\${character}`);

const wholly = (pattern: string): string => `^${pattern}$`;

const parsed = (option: string, value: string, pattern: RegExp, form: string): RegExpExecArray => {
  const found = pattern.exec(value);
  if (found === null) throw wrongUsage(`${option} must be ${form}, not ${JSON.stringify(value)}`);
  return found;
};

/** "main" as "refs/heads/main". */
const fullRef = (ref: string): string => (ref.startsWith("refs/") ? ref : `refs/heads/${ref}`);

const issuerOf = (issuer: string | undefined, otherwise: string): string => {
  const url = URL.parse(issuer ?? otherwise);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") throw wrongUsage(`--issuer must be an http or https URL, not ${JSON.stringify(issuer)}`);
  return issuer ?? otherwise;
};

const githubPreset = (repository: string, { issuer, ref, environment, pullRequest, event }: PresetOptions): Preset => {
  const [, owner = "", ownerId, repo = "", repoId] = parsed(
    "--github",
    repository,
    /^([\w.-]+)(?:@(\d+))?\/([\w.-]+)(?:@(\d+))?$/,
    "OWNER/REPO, or OWNER@NUMBER/REPO@NUMBER",
  );
  if ((ownerId === undefined) !== (repoId === undefined)) throw wrongUsage("--github must have both IDs or none: OWNER@NUMBER/REPO@NUMBER");
  const [job, where] =
    environment !== undefined
      ? [`environment:${environment}`, `environment ${environment}`]
      : pullRequest
        ? ["pull_request", "pull requests"]
        : ref !== undefined
          ? [`ref:${fullRef(ref)}`, ref]
          : [undefined, undefined];
  if (job === undefined) throw wrongUsage("--github requires --ref, --environment or --pull-request, to select jobs of the repository");
  if (pullRequest && (ref !== undefined || environment !== undefined)) throw wrongUsage("--pull-request cannot be used with --ref or --environment");
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
    remarks: [
      ...(repoId === undefined
        ? [
            `A later owner of the names ${owner} and ${repo} could use this identity, and token subjects with IDs do not match. ` +
              "To avoid both, pass the IDs: " +
              `gh api repos/${owner}/${repo} -q '"--github ${owner}@\\(.owner.id)/${repo}@\\(.id)"'`,
          ]
        : []),
      ...(environment !== undefined && ref === undefined
        ? ["Any branch that the environment's rules allow can use this identity. To match one branch, add --ref."]
        : []),
    ],
  };
};

const gitlabPreset = (project: string, { issuer, ref, refType = "branch", projectId }: PresetOptions): Preset => {
  parsed("--gitlab", project, /^[\w.-]+(?:\/[\w.-]+)+$/, "GROUP/PROJECT");
  if (ref === undefined) throw wrongUsage("--gitlab requires --ref: a branch, or a tag with --ref-type tag");
  if (refType !== "branch" && refType !== "tag") throw wrongUsage(`--ref-type must be branch or tag, not ${JSON.stringify(refType)}`);
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
    remarks: [
      `The ${refType} must be protected. To match one that is not, add --claim-match-claims ref_protected=false.`,
      ...(projectId === undefined ? ["A later project at this path could use this identity. To match only this project, add --project-id."] : []),
    ],
  };
};

const kubernetesPreset = (account: string, { issuer }: PresetOptions): Preset => {
  const [, namespace = "", name = ""] = parsed("--kubernetes", account, /^([a-z0-9-]{1,63})\/([a-z0-9.-]{1,253})$/, "NAMESPACE/SERVICEACCOUNT");
  if (issuer === undefined) throw wrongUsage("--kubernetes requires --issuer. To find it: kubectl get --raw /.well-known/openid-configuration | jq -r .issuer");
  return {
    name: `kubernetes ${account}`,
    match: { claimMatch: { issuer: issuerOf(issuer, ""), subject: `system:serviceaccount:${namespace}:${name}` } },
    remarks: [`Every user who can create pods in the namespace ${namespace} can use this identity.`],
  };
};

const jenkinsPreset = (job: string, { issuer }: PresetOptions): Preset => {
  const url = URL.parse(job);
  const at = url?.pathname.indexOf("/job/") ?? -1;
  if (url === null || !/^https?:$/.test(url.protocol) || at < 0 || url.search + url.hash !== "")
    throw wrongUsage(`--jenkins must be the URL of a job, such as https://jenkins.example.com/job/shop/, not ${JSON.stringify(job)}`);
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
    remarks: [],
  };
};

const buildkitePreset = (pipeline: string, { ref, pipelineId, organizationId }: PresetOptions): Preset => {
  const [, organization = "", slug = ""] = parsed("--buildkite", pipeline, /^([\w-]+)\/([\w-]+)$/, "ORG/PIPELINE");
  if (ref === undefined) throw wrongUsage("--buildkite requires --ref: a branch");
  const branch = ref.replace(/^refs\/heads\//, "");
  const own = organizationId === undefined ? {} : { organization_id: organizationId };
  const issuer = "https://agent.buildkite.com";
  const name = `buildkite ${pipeline} ${branch}`;
  if (pipelineId !== undefined)
    return {
      name,
      match: { claimMatch: { issuer, subject: pipelineId, claims: { ...own, build_branch: branch } } },
      remarks: [`The job must request its token with --subject-claim pipeline_id${organizationId === undefined ? "" : " --claim organization_id"}.`],
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
    remarks: ["A later owner of these names could use this identity. To match only this pipeline, add --pipeline-id."],
  };
};

const awsPreset = (arn: string, { awsRoleId }: PresetOptions): Preset => {
  const [, partition = "", account = "", path = ""] = parsed(
    "--aws-role",
    arn,
    /^arn:(aws[a-z-]*):iam::(\d{12}):role\/([\w+=,.@/-]+)$/,
    "the ARN of a role, such as arn:aws:iam::123456789012:role/deployer",
  );
  if (awsRoleId !== undefined) parsed("--aws-role-id", awsRoleId, /^AROA[A-Z0-9]+$/, "a role ID such as AROA…");
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
    remarks: awsRoleId === undefined ? [`A later role with the name ${role} could use this identity. To match only this role, add --aws-role-id.`] : [],
  };
};

const presets: Readonly<Record<System, (value: string, options: PresetOptions) => Preset>> = {
  github: githubPreset,
  gitlab: gitlabPreset,
  kubernetes: kubernetesPreset,
  jenkins: jenkinsPreset,
  buildkite: buildkitePreset,
  awsRole: awsPreset,
};

/** Returns the preset; undefined if the flags name no system. Throws if they conflict. */
export const readPreset = (options: PresetOptions): Preset | undefined => {
  const [system, another] = systems.filter((each) => options[each] !== undefined);
  if (system !== undefined && another !== undefined) throw wrongUsage(`${flagOf(system)} and ${flagOf(another)} cannot be used together`);
  const known = system === undefined ? [] : optionsOf[system];
  const stray = [...new Set(Object.values(optionsOf).flat())].find((name) => options[name] !== undefined && !known.includes(name));
  if (stray !== undefined)
    throw wrongUsage(
      system === undefined
        ? `${flagOf(stray)} requires ${systems
            .filter((each) => optionsOf[each].includes(stray))
            .map(flagOf)
            .join(" or ")}`
        : `${flagOf(stray)} does not apply to ${flagOf(system)}`,
    );
  return system === undefined ? undefined : presets[system](options[system] ?? "", options);
};

/** Pairs of alternative fields. */
const alternatives: Readonly<Record<string, string>> = {
  issuer: "issuerPattern",
  issuerPattern: "issuer",
  subject: "subjectPattern",
  subjectPattern: "subject",
  arn: "arnPattern",
  arnPattern: "arn",
  userId: "userIdPattern",
  userIdPattern: "userId",
};

const identityName = (says: string): string =>
  says
    .toLowerCase()
    .replaceAll(/[^a-z0-9 ._-]+/g, "-")
    .slice(0, 100);

/** Merges the preset into the draft; flags and file take precedence. */
const withPreset = (draft: JsonObject, { name, match }: Preset): JsonObject => {
  const merged: JsonObject = { name: identityName(name), ...draft };
  for (const [key, value] of Object.entries(match)) {
    if (!isObject(value)) continue;
    const own = part(draft, key);
    const kept = Object.fromEntries(Object.entries(value).filter(([field]) => !(alternatives[field] !== undefined && alternatives[field] in own)));
    const claims = { ...part(value, "claims"), ...part(own, "claims") };
    merged[key] = { ...kept, ...own, ...(Object.keys(claims).length > 0 ? { claims } : {}) };
  }
  return merged;
};

const presetLines = (identity: JsonObject): string[] =>
  ["claimMatch", "awsIdentity"].flatMap((key) =>
    Object.entries(part(identity, key)).flatMap(([field, value]) =>
      isObject(value)
        ? Object.entries(value).map(([claim, wanted]) => `  ${onOneLine(claim)} is ${onOneLine(String(wanted))}`)
        : [`  ${field.replace(/Pattern$/, "")} ${field.endsWith("Pattern") ? "matches" : "is"} ${onOneLine(String(value))}`],
    ),
  );

/** Resolves the roles to uids. Throws before anything is created if one is unknown. */
const resolveRoles = async ({ names }: Session, roles: readonly string[]): Promise<string[]> => {
  const role = methodByName("chainguard.platform.iam.v2.RolesService/GetRole")?.output;
  return role === undefined ? [] : Promise.all(roles.map((each) => names.resolve("--role", [role], each)));
};

/** Binds a new identity to its roles. On failure, prints what is missing and the command that completes it. */
const bindRoles = async ({ client, signal, note, terminal }: Session, identity: JsonObject, parent: string, roles: readonly string[]): Promise<void> => {
  const identityUid = text(identity, "uid");
  for (const [index, roleUid] of roles.entries()) {
    try {
      await client.call("chainguard.platform.iam.v2.RoleBindingsService/CreateRoleBinding", { parent, roleBinding: { identityUid, roleUid } }, { signal });
    } catch (thrown) {
      signal.throwIfAborted();
      const missing = roles.slice(index);
      note(`gantry: the identity ${identityUid} was created but not bound: ${onOneLine(thrown instanceof Error ? thrown.message : String(thrown))}`);
      note("To finish, run:");
      for (const each of missing) note(`  gantry iam role-bindings create --parent ${parent} --identity-uid ${identityUid} --role-uid ${each}`);
      terminal.status = exitStatus.partly;
      return;
    }
  }
};

/** Creates the identity from fields and presets, and binds its roles. */
export const runCreateIdentity = async (
  session: Session,
  shape: CommandShape,
  { request }: BuiltRequest,
  write: WriteOptions,
  options: PresetOptions,
): Promise<void> => {
  const preset = readPreset(options);
  const roles = await resolveRoles(session, options.role ?? []);
  const draft = part(request, "identity");
  const identity = preset === undefined ? draft : withPreset(draft, preset);
  const made = await runCall(session, shape, { request: { ...request, identity }, paths: [] }, write);
  if (preset !== undefined) for (const line of ["Tokens must match:", ...presetLines(identity), ...preset.remarks]) session.note(line);
  if (!write.dryRun) await bindRoles(session, made, text(request, "parent"), roles);
};
