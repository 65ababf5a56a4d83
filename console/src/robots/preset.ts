// What a person says about the jobs of a CI system, as the match of an identity and as a command.

import { type CiSystem, identityName, type Preset, type PresetFacts, presetOf } from "../../../base/ci-presets.ts";
import { Fault } from "../../../base/fault.ts";
import { shellWord } from "../format.ts";
import { texts } from "../texts/robots.ts";

export type JobKind = keyof typeof texts.jobKinds;
export const jobKinds: readonly JobKind[] = ["ref", "environment", "pullRequest"];

/** A fact that is typed. "value" is what names the jobs, such as the repository. */
export type FieldName = "value" | Exclude<keyof PresetFacts, "pullRequest" | "refType" | "event" | "organizationId">;

export interface Field {
  readonly name: FieldName;
  readonly label: string;
  readonly hint?: string;
  readonly isOptional?: boolean;
}

export interface Draft {
  readonly system: CiSystem;
  readonly jobs: JobKind;
  readonly refType: "branch" | "tag";
  readonly values: Readonly<Partial<Record<FieldName, string>>>;
}

export const firstDraft: Draft = { system: "github", jobs: "ref", refType: "branch", values: { ref: "main" } };

const issuerField: Field = { name: "issuer", label: texts.issuerOptional, hint: texts.issuerHint, isOptional: true };

const githubFields: Readonly<Record<JobKind, readonly Field[]>> = {
  ref: [{ name: "ref", label: texts.ref, hint: texts.refHint }],
  environment: [
    { name: "environment", label: texts.environment },
    { name: "ref", label: texts.ref, hint: texts.refHint },
  ],
  pullRequest: [],
};

/** The fields of a system, in their order. */
export const fieldsOf = ({ system, jobs }: Draft): readonly Field[] => {
  switch (system) {
    case "github":
      return [{ name: "value", label: texts.repository, hint: texts.repositoryHint }, ...githubFields[jobs], issuerField];
    case "gitlab":
      return [
        { name: "value", label: texts.project, hint: texts.projectHint },
        { name: "ref", label: texts.ref },
        { name: "projectId", label: texts.projectId, hint: texts.projectIdHint, isOptional: true },
        issuerField,
      ];
    case "kubernetes":
      return [
        { name: "value", label: texts.account, hint: texts.accountHint },
        { name: "issuer", label: texts.issuer, hint: texts.clusterHint },
      ];
    case "jenkins":
      return [{ name: "value", label: texts.jobUrl, hint: texts.jobUrlHint }, issuerField];
    case "buildkite":
      return [
        { name: "value", label: texts.pipeline, hint: texts.pipelineHint },
        { name: "ref", label: texts.branch },
        { name: "pipelineId", label: texts.pipelineId, hint: texts.pipelineIdHint, isOptional: true },
      ];
    case "awsRole":
      return [
        { name: "value", label: texts.arn, hint: texts.arnHint },
        { name: "awsRoleId", label: texts.awsRoleId, hint: texts.awsRoleIdHint, isOptional: true },
      ];
    default:
      return system;
  }
};

const valueOf = ({ values }: Draft, name: FieldName): string => (values[name] ?? "").trim();

const factsOf = (draft: Draft): PresetFacts => ({
  ...Object.fromEntries(
    fieldsOf(draft)
      .filter(({ name }) => name !== "value" && valueOf(draft, name) !== "")
      .map(({ name }) => [name, valueOf(draft, name)]),
  ),
  ...(draft.system === "github" && draft.jobs === "pullRequest" ? { pullRequest: true } : {}),
  ...(draft.system === "gitlab" && draft.refType === "tag" ? { refType: "tag" } : {}),
});

export interface Outcome {
  readonly preset?: Preset;
  /** By the name of the field. */
  readonly problems: Readonly<Partial<Record<FieldName, string>>>;
}

/** Returns the preset, or what is wrong with the facts. */
export const outcomeOf = (draft: Draft): Outcome => {
  const missing = fieldsOf(draft).filter(({ name, isOptional }) => !isOptional && valueOf(draft, name) === "");
  if (missing.length > 0) return { problems: Object.fromEntries(missing.map(({ name }) => [name, texts.required])) };
  try {
    return { preset: presetOf(draft.system, valueOf(draft, "value"), factsOf(draft)), problems: {} };
  } catch (thrown) {
    const [violation] = thrown instanceof Fault ? thrown.details.flatMap((detail) => (detail.kind === "fields" ? detail.violations : [])) : [];
    if (!violation) throw thrown;
    const field = fieldsOf(draft).find(({ name }) => name === violation.field)?.name ?? "value";
    return { problems: { [field]: violation.description } };
  }
};

const flagOf = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** The command that makes the same identity, with its role binding. */
export const commandOf = (draft: Draft, parent: string, roleUid: string): string =>
  [
    "gantry iam identities create",
    `--parent ${parent}`,
    `${flagOf(draft.system)} ${shellWord(valueOf(draft, "value"))}`,
    ...Object.entries(factsOf(draft)).map(([name, value]) => (value === true ? flagOf(name) : `${flagOf(name)} ${shellWord(String(value))}`)),
    ...(roleUid === "" ? [] : [`--role ${roleUid}`]),
  ].join(" ");

export const nameOf = ({ name }: Preset): string => identityName(name);
