// The form of an account association: its fields as they are typed, with a line for each entry of a map.

import type { AccountAssociation, AccountAssociationInput, GitHubAppInstallationsInput } from "../../../client/package.ts";
import { texts } from "../texts/associations.ts";
import type { Shown } from "../conflict.tsx";

export const draftFields = [
  "name",
  "description",
  "account",
  "projectId",
  "projectNumber",
  "tenantId",
  "clientIds",
  "appInstallations",
  "serviceBindings",
] as const;
export type DraftField = (typeof draftFields)[number];
export type Draft = Readonly<Record<DraftField, string>>;

export const newDraft: Draft = {
  name: "",
  description: "",
  account: "",
  projectId: "",
  projectNumber: "",
  tenantId: "",
  clientIds: "",
  appInstallations: "",
  serviceBindings: "",
};

/** "scanner=5e1f" for each entry. */
export const pairLines = (map: Readonly<Record<string, string>> = {}): string[] => Object.entries(map).map(([key, value]) => `${key}=${value}`);

/** "42 12345678 acme": app, installation and name. */
export const installationLines = ({ github }: AccountAssociation): string[] =>
  Object.entries(github?.appInstallations ?? {}).flatMap(([app, { installations }]) =>
    installations.map(({ installationId, name }) => `${app} ${installationId} ${name}`.trim()),
  );

export const draftOf = (association: AccountAssociation): Draft => {
  const { name, description, amazon, google, azure, chainguard } = association;
  return {
    name,
    description,
    account: amazon?.account ?? "",
    projectId: google?.projectId ?? "",
    projectNumber: google?.projectNumber ?? "",
    tenantId: azure?.tenantId ?? "",
    clientIds: pairLines(azure?.clientIds).join("\n"),
    appInstallations: installationLines(association).join("\n"),
    serviceBindings: pairLines(chainguard?.serviceBindings).join("\n"),
  };
};

const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

/** The entries of "key=value" lines; undefined if a line is none. */
const pairsOf = (text: string): Record<string, string> | undefined => {
  const pairs = linesOf(text).map((line): [string, string] => {
    const at = line.indexOf("=");
    return at < 0 ? ["", line] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return pairs.every(([key, value]) => key !== "" && value !== "") ? Object.fromEntries(pairs) : undefined;
};

/** Installations by app; undefined if a line has no two IDs. */
const installationsOf = (text: string): Record<string, GitHubAppInstallationsInput> | undefined => {
  const apps: Record<string, GitHubAppInstallationsInput> = {};
  for (const line of linesOf(text)) {
    const [app = "", installationId, ...words] = line.split(" ").filter((word) => word !== "");
    if (!isNumber(app) || installationId === undefined || !isNumber(installationId)) return undefined;
    const name = words.join(" ");
    apps[app] = { installations: [...(apps[app]?.installations ?? []), { installationId, ...(name === "" ? {} : { name }) }] };
  }
  return apps;
};

const isNumber = (text: string): boolean => /^\d+$/.test(text);

interface Outcome {
  readonly association: AccountAssociationInput;
  readonly problems: Readonly<Partial<Record<DraftField, string>>>;
}

/** Returns the message of the form, with what is wrong with it. Accounts without any value are left out. */
export const outcomeOf = (draft: Draft): Outcome => {
  const [name, description, account, projectId, projectNumber, tenantId] = [
    draft.name,
    draft.description,
    draft.account,
    draft.projectId,
    draft.projectNumber,
    draft.tenantId,
  ].map((value) => value.trim());
  const [clientIds, appInstallations, serviceBindings] = [pairsOf(draft.clientIds), installationsOf(draft.appInstallations), pairsOf(draft.serviceBindings)];
  return {
    association: {
      name: name ?? "",
      description: description ?? "",
      ...(account ? { amazon: { account } } : {}),
      ...(projectId || projectNumber ? { google: { projectId: projectId ?? "", projectNumber: projectNumber ?? "" } } : {}),
      ...(tenantId || draft.clientIds.trim() !== "" ? { azure: { tenantId: tenantId ?? "", clientIds: clientIds ?? {} } } : {}),
      ...(draft.appInstallations.trim() === "" ? {} : { github: { appInstallations: appInstallations ?? {} } }),
      ...(draft.serviceBindings.trim() === "" ? {} : { chainguard: { serviceBindings: serviceBindings ?? {} } }),
    },
    problems: {
      ...(name === "" ? { name: texts.nameHint } : {}),
      ...(clientIds ? {} : { clientIds: texts.clientIdsHint }),
      ...(appInstallations ? {} : { appInstallations: texts.appInstallationsHint }),
      ...(serviceBindings ? {} : { serviceBindings: texts.serviceBindingsHint }),
    },
  };
};

export const shownOf = (draft: Draft): readonly Shown[] => draftFields.map((field): Shown => [texts.fields[field], draft[field].trim()]);
