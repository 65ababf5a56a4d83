// Requests of a view as commands and code that repeat them.

import type { ReactNode } from "react";
import type { Sent } from "./api.ts";
import { camel, shellWord } from "./format.ts";
import { Command } from "./parts.tsx";
import { texts } from "./texts.ts";

type Request = Sent["request"];

/** Operations whose commands take these fields as words instead of flags. */
const positionals: Readonly<Record<string, readonly string[]>> = {
  "registry.repos.get-architectures": ["repoUid", "digest"],
  "registry.repos.get-size": ["repoUid", "digest"],
  "registry.image-packages.find": ["repoUid"],
  "registry.image-packages.compare-images": ["repoUid"],
  "registry.tag-history.get": ["tagUid"],
  "registry.storage.get": ["uid"],
  "registry.repos.get-readme": ["uid"],
  "registry.repos.delete": ["uid"],
  "registry.tags.delete": ["uid"],
  "iam.groups.delete": ["uid"],
  "audit.entries.verify": ["uid"],
  "iam.groups.get": ["uid"],
  "iam.access.mine": ["place"],
  "iam.role-bindings.delete": ["uid"],
  "iam.identities.delete": ["uid"],
  "iam.roles.get": ["uid"],
  "iam.roles.delete": ["uid"],
  "registry.immutable-tag-rules.delete": ["uid"],
  "registry.retention-rules.delete": ["uid"],
  "registry.retention-rules.preview": ["repoUid"],
  "findings.decisions.approve": ["uid"],
  "findings.decisions.delete": ["uid"],
  "findings.decision-approval-policies.delete": ["uid"],
  "findings.vex-sources.delete": ["uid"],
  "deletions.undelete": ["uid"],
  "events.deliveries.redeliver": ["uid"],
  "events.subscriptions.delete": ["uid"],
  "iam.group-invites.delete": ["uid"],
  "iam.identity-providers.get": ["uid"],
  "iam.identity-providers.delete": ["uid"],
  "iam.identity-providers.generate-scim-token": ["identityProviderUid"],
  "iam.identity-providers.regenerate-scim-token": ["identityProviderUid"],
  "iam.identity-providers.revoke-scim-token": ["identityProviderUid"],
  "iam.identity-providers.set-scim-enabled": ["identityProviderUid"],
  "iam.external-group-role-mappings.delete": ["uid"],
  "iam.account-associations.get": ["uid"],
  "iam.account-associations.check": ["uid"],
  "iam.account-associations.delete": ["uid"],
  "iam.memberships.accept": ["group"],
  "iam.memberships.decline": ["group"],
  "sessions.revoke": ["uid"],
  "sessions.group-sessions.revoke": ["uid"],
  "names.search": ["query"],
  "names.resolve": ["path"],
};

/** Flags that are not named like their fields. */
const flagNames: Readonly<Record<string, string>> = { pageSize: "limit", limit: "search-limit" };

const isRecord = (value: unknown): value is Request => typeof value === "object" && value !== null && !Array.isArray(value);

const flagsOf = (name: string, request: Request): string[] =>
  Object.entries(request).flatMap(([field, value]): string[] => {
    if (isRecord(value)) return flagsOf(name, value);
    const isList = name.endsWith(".list");
    const flag = field === "parent" && isList ? "children-of" : (flagNames[field] ?? field.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`));
    if (typeof value === "boolean") return [value ? `--${flag}` : `--no-${flag}`];
    return [`--${flag} ${shellWord(String(value))}`];
  });

/** An update names its resource as a word, and changes the fields of its flags. */
const updateOf = (name: string, request: Request): string[] =>
  Object.values(request)
    .filter(isRecord)
    .flatMap(({ uid, ...fields }) => [shellWord(String(uid)), ...flagsOf(name, fields)]);

const commandOf = ({ name, request, command }: Sent): string => {
  if (command !== undefined) return command;
  if (name.endsWith(".update")) return ["gantry", ...name.split("."), ...updateOf(name, request)].join(" ");
  const words = positionals[name] ?? [];
  const rest = Object.fromEntries(Object.entries(request).filter(([key]) => !words.includes(key)));
  return ["gantry", ...name.split("."), ...words.map((key) => shellWord(String(request[key] ?? ""))), ...flagsOf(name, rest)].join(" ");
};

const codeOf = ({ name, request }: Sent): string => `await gantry.${camel(name)}(${JSON.stringify(request)})${name.endsWith(".list") ? ".page()" : ""}`;

const curlOf = ({ verb, path, body }: Sent): string =>
  [
    "curl",
    ...(verb === "GET" ? [] : [`-X ${verb}`]),
    '-H "Authorization: Bearer $TOKEN"',
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${shellWord(body)}`]),
    shellWord(`${location.origin}${path}`, true),
  ].join(" ");

/** Shows what a view has sent, or what a form would send, as commands. */
export const SameRequest = ({ sent }: { readonly sent: readonly (Sent | undefined)[] }): ReactNode => {
  const known = sent.filter((each) => each !== undefined);
  if (known.length === 0) return null;
  return (
    <details className="same-request">
      <summary>{texts.sameRequest}</summary>
      <p className="quiet">{known.every(({ verb }) => verb === "GET") ? texts.sameRequestHint : texts.sameChangeHint}</p>
      {known.map((each) => (
        <div key={`${each.verb} ${each.path}`} className="request">
          <Command what={texts.curl} text={curlOf(each)} />
          <Command what={texts.cli} text={commandOf(each)} />
          <Command what={texts.code} text={codeOf(each)} />
        </div>
      ))}
    </details>
  );
};
