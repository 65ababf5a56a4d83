// Error output, for users or as one line of JSON: the server's message by flag, a remedy, and the source of a rejected
// credential.

import { type Code, codes, Fault } from "#base/fault.ts";
import type { Json, JsonObject } from "#base/json.ts";
import { ApiError } from "#contract-client";
import { exitStatusOf, isWrongUsage } from "../exit-status.ts";
import { red } from "../output/color.ts";
import { onItsLines, onOneLine, printableJson } from "../output/escape.ts";
import type { FieldFlag } from "./shape.ts";

export interface FailureContext {
  /** One line of JSON instead of text. */
  readonly asJson: boolean;
  readonly colored: boolean;
  /** Flags of the command, and the path of its resource in the request. */
  readonly flags: readonly FieldFlag[];
  readonly bodyPath: string | undefined;
  /** Names of the given flags; undefined if a file may have set the rest. */
  readonly given?: ReadonlySet<string> | undefined;
  /** Returns the usage line with these flags, for commands that have flags. */
  readonly usage?: ((required: readonly FieldFlag[]) => string) | undefined;
  /** "the token of GANTRY_TOKEN, …". */
  readonly credential: string | undefined;
  readonly server: string | undefined;
  /** What selected the server: "the context acme". */
  readonly serverOrigin: string | undefined;
}

const camelOf = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const findFlag = (field: string, { flags, bodyPath }: FailureContext): FieldFlag | undefined => {
  const path = camelOf(field).split("[")[0] ?? "";
  return flags.find((flag) => {
    const own = flag.path.join(".");
    return own === path || own === `${bodyPath}.${path}` || (flag.path[0] === "uidp" && own === `uidp.${path}`);
  });
};

/** Returns the flag that a violation concerns; the path itself if there is none. */
const flagOfViolation = (field: string, context: FailureContext): string => {
  const found = findFlag(field, context);
  return found === undefined ? field : `--${found.name}`;
};

/** Returns the violation's flag if it was not given, so that the value is missing. */
const missingFlag = (field: string, context: FailureContext): FieldFlag | undefined => {
  const found = findFlag(field, context);
  return found === undefined || context.given === undefined || context.given.has(found.name) ? undefined : found;
};

const codeOf = (thrown: unknown): Code => {
  const code: unknown = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && code in codes ? (code as Code) : "UNKNOWN";
};

const violationsOf = (thrown: unknown): readonly { readonly field: string; readonly description: string }[] => {
  if (thrown instanceof ApiError) return thrown.violations;
  if (!(thrown instanceof Fault)) return [];
  return thrown.details.flatMap((detail) => (detail.kind === "fields" ? detail.violations : []));
};

const errorJson = (thrown: unknown, context: FailureContext): JsonObject => {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const violations = violationsOf(thrown).map(({ field, description }): Json => ({ field, flag: flagOfViolation(field, context), description }));
  const reason = isWrongUsage(thrown) ? "USAGE" : thrown instanceof ApiError ? thrown.reason : codeOf(thrown);
  return {
    error: {
      code: codes[codeOf(thrown)],
      status: codeOf(thrown),
      reason,
      message,
      exitStatus: exitStatusOf(thrown),
      ...(violations.length > 0 ? { violations } : {}),
      ...(thrown instanceof ApiError && thrown.details.length > 0 ? { details: thrown.details.map((detail): Json => ({ ...detail })) } : {}),
      ...(thrown instanceof ApiError && thrown.requestId !== undefined ? { requestId: thrown.requestId } : {}),
    },
  };
};

const waitText = (delayMs: number): string => `try again in ${Math.max(1, Math.ceil(delayMs / 1000))} s`;

const remarksOf = (thrown: unknown, context: FailureContext): string[] => {
  if (!(thrown instanceof ApiError)) return [];
  const { credential, server, serverOrigin } = context;
  const refused = thrown.code === "UNAUTHENTICATED" || thrown.code === "PERMISSION_DENIED";
  const asked = refused && credential !== undefined && server !== undefined ? [`sent to ${server} (${serverOrigin}) with ${credential.replace(/,$/, "")}`] : [];
  const again = thrown.retryDelayMs === undefined ? [] : [waitText(thrown.retryDelayMs)];
  return [...asked, ...again, ...(thrown.requestId === undefined ? [] : [`request ${thrown.requestId}`])];
};

const requiredText = (names: readonly string[]): string => `${names.join(" and ")} ${names.length === 1 ? "is" : "are"} required`;

/** Returns a thrown error as text for standard error. */
export const failureText = (thrown: unknown, context: FailureContext): string => {
  if (context.asJson) return `${printableJson(JSON.stringify(errorJson(thrown, context)))}\n`;
  const violations = violationsOf(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  const missing = new Set(violations.flatMap(({ field }) => missingFlag(field, context) ?? []));
  const required = [...missing].map(({ name }) => `--${name}`);
  const wrong = violations.filter(({ field }) => missingFlag(field, context) === undefined);
  // Each violation has its own line.
  const first = wrong.length > 0 ? "the server rejected these values" : required.length > 0 ? requiredText(required) : message;
  const lines = [
    `gantry: ${onItsLines(first)}`,
    ...wrong.map(({ field, description }) => `  ${onOneLine(`${flagOfViolation(field, context)}: ${description}`)}`),
    ...(wrong.length > 0 ? required.map((name) => `  ${requiredText([name])}`) : []),
    ...(missing.size > 0 && context.usage ? [`  Usage: ${context.usage([...missing])}`] : []),
    ...remarksOf(thrown, context).map((line) => `  ${onOneLine(line)}`),
  ];
  return lines.map((line, index) => `${index === 0 ? red(context.colored, line) : line}\n`).join("");
};
