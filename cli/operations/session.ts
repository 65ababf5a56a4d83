// One run of an API command: server, credential, output, timeout and error handling.

import { type Client, createClient } from "#contract-client";
import { describeCredential, type FoundContext } from "#contexts";
import { limits } from "#base/limits.ts";
import type { MethodFact } from "#contract/facts.ts";
import { findContext } from "../context.ts";
import { readDuration } from "../duration.ts";
import { exitStatus, exitStatusOf, wrongUsage } from "../exit-status.ts";
import { httpFetch } from "../http-fetch.ts";
import { type Interruption, openInterruption } from "../interruption.ts";
import { type ColorChoice, hasColors } from "../output/color.ts";
import { isForPrograms, type OutputFormat, readFormat } from "../output/format.ts";
import type { FindPaths, Output } from "../output/print.ts";
import type { Terminal } from "../terminal.ts";
import { type FailureContext, failureText } from "./failure.ts";
import { openPaths } from "./paths.ts";
import { type Names, openNames } from "./references.ts";
import type { CommandShape } from "./shape.ts";

export interface SessionOptions {
  readonly server?: string;
  readonly context?: string;
  readonly output?: string;
  readonly columns?: string;
  readonly timeout?: string;
  /** False with --no-input. */
  readonly input?: boolean;
  /** False with --no-color. */
  readonly color?: boolean | string;
}

export interface Session {
  readonly context: FoundContext;
  readonly client: Client;
  readonly names: Names;
  readonly findPaths: FindPaths;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** True if the command can prompt. */
  readonly asks: boolean;
  /** Writes a line to standard error. */
  readonly note: (line: string) => void;
  readonly terminal: Terminal;
  readonly environment: Terminal["environment"];
}

const colorChoice = (color: boolean | string | undefined): ColorChoice => {
  if (color === false) return "never";
  if (color === undefined || color === true) return "auto";
  if (color === "always" || color === "never" || color === "auto") return color;
  throw wrongUsage(`--color must be always, never or auto, not ${JSON.stringify(color)}`);
};

/** Resolves when the stream accepts more. If the reader closes, the program exits silently. */
const writeTo = (stream: NodeJS.WriteStream, content: string | Uint8Array): Promise<void> =>
  new Promise((resolve) => {
    if (stream.write(content)) resolve();
    else stream.once("drain", resolve);
  });

/** `gantry … | head`: further pages would not be read. */
const endWithReader = (stream: NodeJS.WriteStream): void => {
  if (stream === process.stdout) stream.on("error", () => process.exit(exitStatus.done));
};

/** Public operations are called without a token, so they need no sign-in. */
const clientFor = (method: MethodFact, context: FoundContext, timeoutMs: number | undefined): Client => {
  const { server, credential } = context;
  return createClient({
    server,
    fetch: httpFetch,
    ...(method.open && !method.groupFilter ? {} : { token: credential.token }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
};

const formatOf = (options: SessionOptions, context: FoundContext | undefined): OutputFormat => {
  if (options.output !== undefined) return readFormat("--output", options.output);
  return context?.output === undefined ? "table" : readFormat("the output format of GANTRY_OUTPUT or the context", context.output);
};

/** Returns the format of --output, before any other validation. */
const askedFormat = (options: SessionOptions, environment: Terminal["environment"]): OutputFormat | undefined => {
  try {
    return readFormat("--output", options.output ?? environment.GANTRY_OUTPUT ?? "table");
  } catch {
    return undefined;
  }
};

const isOn = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0" && value !== "false";

export interface Invocation extends Pick<FailureContext, "given" | "usage"> {
  readonly shape: CommandShape;
  readonly options: SessionOptions;
}

/** Runs the command: sets the terminal's status and writes errors to standard error. */
export const runInSession = async (
  terminal: Terminal,
  { shape, options, given, usage }: Invocation,
  work: (session: Session) => Promise<void>,
): Promise<void> => {
  const { environment, out, err } = terminal;
  const interruption: Interruption = openInterruption();
  let context: FoundContext | undefined;
  endWithReader(out);
  try {
    const choice = colorChoice(options.color);
    const timeoutMs = options.timeout === undefined ? undefined : readDuration("--timeout", options.timeout, limits.longestWaitMs);
    context = findContext(terminal, options);
    const output: Output = {
      format: formatOf(options, context),
      columns: options.columns?.split(",").filter((name) => name !== ""),
      out,
      colored: hasColors(out, environment, choice),
      now: terminal.now ?? Date.now,
      write: (content) => writeTo(out, content),
    };
    const client = clientFor(shape.method, context, timeoutMs);
    const input = terminal.input ?? process.stdin;
    const findPaths = openPaths(client, interruption.signal);
    await work({
      context,
      client,
      names: openNames(client, findPaths, interruption.signal),
      findPaths,
      output,
      signal: interruption.signal,
      asks: options.input !== false && !isOn(environment.GANTRY_NO_INPUT) && input.isTTY === true && err.isTTY === true,
      note: (line) => void err.write(`${line}\n`),
      terminal,
      environment,
    });
  } catch (thrown) {
    const status = interruption.status();
    if (status !== undefined) {
      terminal.status = status;
      return;
    }
    terminal.status = exitStatusOf(thrown);
    err.write(
      failureText(thrown, {
        asJson: isForPrograms(askedFormat(options, environment)),
        colored: hasColors(err, environment, options.color === false ? "never" : "auto"),
        flags: [...shape.positionals, ...shape.flags],
        bodyPath: shape.body?.json,
        given,
        usage,
        credential: context && describeCredential(context.credential),
        server: context?.server,
        serverOrigin: context?.serverOrigin,
      }),
    );
  } finally {
    interruption.end();
  }
};
