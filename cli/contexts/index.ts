// Public entry: the user's contexts, and the server, organization and credential that a client command uses.

import { Fault } from "#base/fault.ts";
import { checkContextName, type Environment, readContexts, readServer, type StoredContext } from "./context-file.ts";
import { type Credential, findCredential } from "./credential.ts";

export { changeContexts, checkContextName, contextFilePath, type ContextList, readContexts, readServer, type StoredContext } from "./context-file.ts";
export { type Credential, describeCredential, explainRefusal, readTokenFile, renewSignIn } from "./credential.ts";

/** Command-line flags; they take precedence over the environment and the context. */
export interface ContextOptions {
  readonly server?: string | undefined;
  readonly context?: string | undefined;
  readonly organization?: string | undefined;
  readonly output?: string | undefined;
}

export interface FoundContext {
  /** Name of the context; undefined if the server was named otherwise. */
  readonly name: string | undefined;
  readonly stored: StoredContext | undefined;
  /** Without a trailing slash. */
  readonly server: string;
  /** What named the server: "--server", "GANTRY_SERVER", "the context acme", "this machine". */
  readonly serverOrigin: string;
  /** A uid or a name, as given. */
  readonly organization: string | undefined;
  readonly output: string | undefined;
  readonly credential: Credential;
}

const findStored = (environment: Environment, named: string | undefined): { readonly name: string; readonly stored: StoredContext } | undefined => {
  const { current, contexts } = readContexts(environment);
  const name = named ?? current;
  if (name === undefined) return undefined;
  const stored = contexts.get(checkContextName(name));
  if (stored === undefined) throw new Fault("NOT_FOUND", `context ${name} not found. List the contexts with gantry context list`);
  return { name, stored };
};

/**
 * Resolves server, organization and credential. `ownServer` is the default. Throws if the named context does not exist or the
 * context file is untrusted.
 */
export const resolveContext = (environment: Environment, options: ContextOptions, ownServer: () => string): FoundContext => {
  const context = findStored(environment, options.context || environment.GANTRY_CONTEXT || undefined);
  const serverOfEnvironment = options.context ? undefined : environment.GANTRY_SERVER;
  const [serverOrigin, server] = options.server
    ? ["--server", readServer("--server", options.server)]
    : serverOfEnvironment
      ? ["GANTRY_SERVER", readServer("GANTRY_SERVER", serverOfEnvironment)]
      : context
        ? [`the context ${context.name}`, context.stored.server]
        : ["this machine", readServer("GANTRY_PUBLIC_URL", ownServer())];
  // The current context does not apply to another server.
  const own = context?.stored.server === server ? context : undefined;
  const isServerNamed = context === undefined || serverOrigin === "--server" || environment.GANTRY_SERVER === server;
  return {
    name: own?.name,
    stored: own?.stored,
    server,
    serverOrigin,
    organization: options.organization || environment.GANTRY_ORG || own?.stored.organization,
    output: options.output || environment.GANTRY_OUTPUT || own?.stored.output,
    credential: findCredential({ environment, server, isServerNamed, context: own }),
  };
};
