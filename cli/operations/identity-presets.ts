// `gantry iam identities create --github acme/shop --ref main`: derives an identity's match from well-known facts of a CI system
// (base/ci-presets.ts), and adds remarks about what the match leaves open.

import { type Command, Option } from "commander";
import { ciSystems, type CiSystem, identityName, type Preset, type PresetFacts, presetOf } from "#base/ci-presets.ts";
import { Fault } from "#base/fault.ts";
import { isObject, type JsonObject, part, text } from "#base/json.ts";
import { methodByName } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import { exitStatus, wrongUsage } from "../exit-status.ts";
import { onOneLine } from "../output/escape.ts";
import type { BuiltRequest } from "./request.ts";
import type { Session } from "./session.ts";
import type { CommandShape } from "./shape.ts";
import { runCall, type WriteOptions } from "./write.ts";

export interface PresetOptions extends PresetFacts, Readonly<Partial<Record<CiSystem, string>>> {
  readonly role?: readonly string[];
}

/** The match of an identity, and remarks for its creator. */
interface RemarkedPreset extends Preset {
  readonly remarks: readonly string[];
}

const createIdentity = "chainguard.platform.iam.v2.IdentitiesService/CreateIdentity";

export const takesPresets = ({ name }: MethodFact): boolean => name === createIdentity;

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const optionsOf: Readonly<Record<CiSystem, readonly (keyof PresetOptions)[]>> = {
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

/** Returns what the creator should know about the match. */
const remarksOf: Readonly<Record<CiSystem, (value: string, options: PresetOptions) => readonly string[]>> = {
  github: (repository, { ref, environment }) => {
    const [owner, repo] = repository.split("/");
    return [
      ...(repository.includes("@")
        ? []
        : [
            `A later owner of the names ${owner} and ${repo} could use this identity, and token subjects with IDs do not match. ` +
              "To avoid both, pass the IDs: " +
              `gh api repos/${owner}/${repo} -q '"--github ${owner}@\\(.owner.id)/${repo}@\\(.id)"'`,
          ]),
      ...(environment !== undefined && ref === undefined
        ? ["Any branch that the environment's rules allow can use this identity. To match one branch, add --ref."]
        : []),
    ];
  },
  gitlab: (_, { refType = "branch", projectId }) => [
    `The ${refType} must be protected. To match one that is not, add --claim-match-claims ref_protected=false.`,
    ...(projectId === undefined ? ["A later project at this path could use this identity. To match only this project, add --project-id."] : []),
  ],
  kubernetes: (account) => [`Every user who can create pods in the namespace ${account.split("/")[0]} can use this identity.`],
  jenkins: () => [],
  buildkite: (_, { pipelineId, organizationId }) => [
    pipelineId === undefined
      ? "A later owner of these names could use this identity. To match only this pipeline, add --pipeline-id."
      : `The job must request its token with --subject-claim pipeline_id${organizationId === undefined ? "" : " --claim organization_id"}.`,
  ],
  awsRole: (arn, { awsRoleId }) =>
    awsRoleId === undefined ? [`A later role with the name ${arn.split("/").at(-1)} could use this identity. To match only this role, add --aws-role-id.`] : [],
};

/** Returns a problem with a fact as a problem with its flag. */
const withFlag = (thrown: unknown): unknown => {
  const [violation] = thrown instanceof Fault ? thrown.details.flatMap((detail) => (detail.kind === "fields" ? detail.violations : [])) : [];
  const name = [...ciSystems, ...Object.values(optionsOf).flat()].find((each) => each === violation?.field);
  return violation && name ? wrongUsage(`${flagOf(name)} ${violation.description}`) : thrown;
};

/** Returns the preset; undefined if the flags name no system. Throws if they conflict. */
export const readPreset = (options: PresetOptions): RemarkedPreset | undefined => {
  const [system, another] = ciSystems.filter((each) => options[each] !== undefined);
  if (system !== undefined && another !== undefined) throw wrongUsage(`${flagOf(system)} and ${flagOf(another)} cannot be used together`);
  const known = system === undefined ? [] : optionsOf[system];
  const stray = [...new Set(Object.values(optionsOf).flat())].find((name) => options[name] !== undefined && !known.includes(name));
  if (stray !== undefined)
    throw wrongUsage(
      system === undefined
        ? `${flagOf(stray)} requires ${ciSystems
            .filter((each) => optionsOf[each].includes(stray))
            .map(flagOf)
            .join(" or ")}`
        : `${flagOf(stray)} does not apply to ${flagOf(system)}`,
    );
  if (system === undefined) return undefined;
  const value = options[system] ?? "";
  try {
    return { ...presetOf(system, value, options), remarks: remarksOf[system](value, options) };
  } catch (thrown) {
    throw withFlag(thrown);
  }
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
