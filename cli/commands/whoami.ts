// `gantry whoami`: show the current identity, server, token expiry and credential source.

import { type Command, Option } from "commander";
import { Fault } from "#base/fault.ts";
import { visibleText } from "#base/html.ts";
import { type JsonObject, objectList, part, text, texts } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { ownAudiences } from "#base/own-audiences.ts";
import { isUid, rootOf } from "#base/uid.ts";
import { explainRefusal, type FoundContext } from "#contexts";
import { newCommand } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { exitStatusText } from "../exit-status.ts";
import { onOneLine, printableJson } from "../output/escape.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly server?: string;
  readonly context?: string;
  readonly offline?: boolean;
  readonly output: "table" | "json";
}

interface Organization {
  readonly uid: string;
  readonly name: string;
  /** The role, or the number of capabilities. */
  readonly may: string;
}

interface Answer {
  readonly server: string;
  readonly context: string | undefined;
  readonly identity: string;
  readonly name: string;
  readonly audience: readonly string[];
  /** RFC 3339; "" if the token does not state it. */
  readonly expireTime: string;
  readonly organizations: readonly Organization[];
  readonly credential: string;
  readonly file: string | undefined;
}

const mayText = (capability: JsonObject): string => {
  const role = text(part(capability, "role"), "name");
  const count = texts(capability, "capabilities").length;
  return role === "" ? `${count} ${count === 1 ? "capability" : "capabilities"}` : role;
};

const organizationsFrom = (whoAmI: JsonObject): Organization[] => {
  const found = new Map<string, Organization>();
  for (const each of objectList(whoAmI, "capabilities")) {
    const group = part(each, "group");
    const uid = text(group, "id");
    if (!isUid(uid)) continue;
    const root = rootOf(uid);
    if (uid === root) found.set(root, { uid, name: text(group, "name"), may: mayText(each) });
    else if (!found.has(root)) found.set(root, { uid: root, name: "", may: "in groups below" });
  }
  return [...found.values()];
};

/** Reads the token without a request. Throws UNAUTHENTICATED if there is none or it has expired. */
const answerOffline = async (found: FoundContext): Promise<Answer> => {
  const { server, credential } = found;
  const { personText, tokenEndMs, unverifiedClaims } = await import("#login");
  const held = credential.held();
  if (held === undefined) {
    const nobody = credential.isFromEnvironment ? `${credential.origin} is only exchanged when a request is sent` : `not signed in to ${server}`;
    throw new Fault("UNAUTHENTICATED", `${nobody}. Run gantry whoami without --offline for details`);
  }
  const endMs = tokenEndMs(held);
  if (endMs <= Date.now() && !credential.canRenew()) throw new Fault("UNAUTHENTICATED", `${credential.origin} has expired. Run gantry login`);
  const claims = unverifiedClaims(held);
  const audience = text(claims, "aud") === "" ? texts(claims, "aud") : [text(claims, "aud")];
  const identity = text(claims, "sub");
  const organizations = isUid(identity) && identity.includes("/") ? [{ uid: rootOf(identity), name: "", may: "" }] : [];
  return {
    server,
    context: found.name,
    identity,
    name: personText({}, claims),
    audience,
    expireTime: endMs === 0 ? "" : new Date(endMs).toISOString(),
    organizations,
    credential: credential.origin,
    file: credential.file,
  };
};

const answerOnline = async (found: FoundContext): Promise<Answer> => {
  const { server, credential } = found;
  const [{ createClient }, { personText }] = await Promise.all([import("#contract-client"), import("#login")]);
  const client = createClient({ server, token: credential.token });
  const whoAmI = await client.call("chainguard.platform.auth.Auth/Validate", {}).catch((thrown: unknown) => {
    throw explainRefusal(credential, thrown);
  });
  return {
    server,
    context: found.name,
    identity: text(whoAmI, "subject"),
    name: personText(whoAmI, {}),
    audience: texts(whoAmI, "audience"),
    expireTime: text(whoAmI, "expiry"),
    organizations: organizationsFrom(whoAmI),
    credential: credential.origin,
    file: credential.file,
  };
};

const minutesLeft = (expireTime: string): string => {
  const minutes = Math.floor((Date.parse(expireTime) - Date.now()) / 60_000);
  return minutes < 0 ? "expired; renewed when needed" : minutes < 120 ? `${minutes} minutes left` : `${Math.floor(minutes / 60)} hours left`;
};

const tableOf = (answer: Answer): string => {
  const { server, context, identity, name, audience, expireTime, organizations, credential, file } = answer;
  const other = audience.filter((each) => !ownAudiences(server).includes(each));
  const organizationTexts = organizations.map((each) => [each.name, each.name === "" ? each.uid : `(${each.uid})`, each.may && `as ${each.may}`]);
  const rows: readonly (readonly [string, string])[] = [
    ["server", server],
    ["context", context ?? "-"],
    ["identity", identity],
    ...(name === "" || name === identity ? [] : [["name", name] as const]),
    ...(other.length === 0 ? [] : [["audience", other.join(", ")] as const]),
    ...organizationTexts.map((parts, index) => [index === 0 ? "organizations" : "", parts.filter((each) => each !== "").join(" ")] as const),
    ["valid until", expireTime === "" ? "not in the token" : `${expireTime} (${minutesLeft(expireTime)})`],
    ["token", credential],
    ...(file === undefined ? [] : [["stored in", file] as const]),
  ];
  return formatTable(rows.map(([key, value]) => [key, onOneLine(visibleText(value, limits.whoamiTextLengthMax))]));
};

export const whoamiCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "whoami",
      usage: "[--offline] [--server URL] [--context NAME] [-o FORMAT]",
      description: `Show the signed-in identity, its organizations, the server and context, and the source and expiration time of the token.
With --offline, the token is not sent to the server, and not verified.`,
      notes: `${exitStatusText}

Examples:  gantry whoami
           gantry whoami --offline || gantry login`,
    }).option("--offline", "Read only the stored token; exit status 4 if there is none"),
  )
    .addOption(new Option("-o, --output <FORMAT>", "table or json (default: table)").choices(["table", "json"]).default("table"))
    .action(async ({ server, context, offline, output }: Options) => {
      const found = findContext(terminal, { server, context });
      const answer = await (offline ? answerOffline(found) : answerOnline(found));
      terminal.out.write(output === "json" ? `${printableJson(JSON.stringify(answer, undefined, 2))}\n` : `${tableOf(answer)}\n`);
    });
