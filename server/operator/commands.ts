// What each command does, and how its help reads.

import { Fault } from "#base/fault.ts";
import { isObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import type { Log } from "#base/log.ts";
import { isUid } from "#base/uid.ts";
import type { FeedKind } from "#feeds";
import { readPublicUrl, readSettings } from "./config.ts";
import { destination } from "./destination.ts";
import type { Application } from "./application.ts";
import { progressBar } from "./progress.ts";
import { explained, whoCanLines } from "./reasons.ts";
import { importFeed, importRegistry, mintToken, openApplication, registerPerson, setSuspended, startServer, tailEvents, verifyAudit } from "./whole.ts";

export interface Run {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly out: NodeJS.WriteStream;
  readonly err: NodeJS.WriteStream;
}

export interface Command {
  readonly summary: string;
  readonly usage: string;
  readonly options: Readonly<Record<string, { readonly type: "string" | "boolean" }>>;
  /** Returns the exit status. */
  run(run: Run): Promise<number>;
}

const option = ({ values }: Run, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/**
 * Resolves when the process is asked to stop. A second signal ends it at once, but not the echo of the first: Ctrl-C
 * reaches every process of the terminal, and npm and bin/node.js hand it on once more.
 */
const stopSignal = (): Promise<string> =>
  new Promise((resolve) => {
    let askedMs: number | undefined;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        if (askedMs !== undefined && performance.now() - askedMs > limits.signalEchoMs) process.exit(1);
        askedMs ??= performance.now();
        resolve(signal);
      });
    }
  });

/** For commands that take options only. */
const noArguments = ({ positionals }: Run, name: string): void => {
  if (positionals.length > 0) throw new Fault("INVALID_ARGUMENT", `${name} takes no arguments besides its options; gantry help ${name} shows them`);
};

const serve: Command = {
  summary: "run the server",
  usage: `gantry serve

  Runs the server until it is stopped. Settings come from the environment:

    GANTRY_LISTEN           address and port (127.0.0.1:8080)
    GANTRY_DATA             data directory (./gantry-data)
    DATABASE_URL            a PostgreSQL to use instead of the embedded one
    GANTRY_PUBLIC_URL       the address that clients use; also the issuer of tokens
    GANTRY_TLS_CERT         certificate file: the port speaks TLS
    GANTRY_TLS_KEY          its key file
    GANTRY_SERVICE_DOMAIN   the domain in error details (gantry.local)
    GANTRY_AUDIENCES        further audiences whose tokens are accepted
    GANTRY_EGRESS_ALLOW     private addresses that may be reached, as CIDRs
    GANTRY_SECRET_KEY_FILE  the key that seals secrets (made in GANTRY_DATA; required with DATABASE_URL)
    GANTRY_CORS_ORIGINS     origins whose pages may call the API (none)
    GANTRY_TRUSTED_PROXIES  proxies whose X-Forwarded-For is believed, as addresses or CIDRs (none)
    GANTRY_TERMS_FILE       documents to accept, and what needs them, as JSON
    GANTRY_FEEDS            a file of imports that the server repeats by itself
    GANTRY_OPEN_ORGANIZATIONS  true: people may make organizations (false)
    GANTRY_AWS_STS_URL      where signed AWS requests are verified (the AWS STS host that they name)
    GANTRY_DELIVERY_DELAYS  seconds before each attempt to deliver an event (0,5,300,1800,7200,18000,36000,36000)
    GANTRY_AUDIT_MONTHS     months of the audit log that are kept, the running one included (13)
    GANTRY_FREE_MAIL_DOMAINS  further mail domains that are nobody's company

  Example:  GANTRY_LISTEN=0.0.0.0:8080 GANTRY_PUBLIC_URL=https://gantry.example.com gantry serve
`,
  options: {},
  async run(run) {
    noArguments(run, "serve");
    const { environment, log, err } = run;
    const settings = readSettings(environment);
    // Asked during the start, it stops right after it.
    const asked = stopSignal();
    const server = await startServer(settings, { log, progress: (line) => err.write(`${line}\n`) });
    const lines = [`Gantry serves ${settings.publicUrl}`];
    if (server.firstOrganization) lines.push(`Made a first organization: ${server.firstOrganization}`);
    lines.push("For a token to try it with, in another terminal:  npx gantry token");
    err.write(`${lines.join("\n")}\n`);
    await asked;
    err.write("Stopping: finishing what is in flight\n");
    await server.close();
    return 0;
  },
};

const withHouse = async <T>({ environment, log, err }: Run, work: (open: Application) => Promise<T>): Promise<T> => {
  const open = await openApplication({ settings: readSettings(environment), log, join: true, progress: (line) => err.write(`${line}\n`) });
  try {
    return await work(open);
  } finally {
    await open.close();
  }
};

const token: Command = {
  summary: "print a token for testing",
  usage: `gantry token [--identity UID] [--audience AUDIENCE]

  Prints a token, valid for one hour, and nothing else. Without --identity it is the operator's, who may do
  everything. Works on the machine (or with the database) of the server, running or not.

  Example:  curl -H "Authorization: Bearer $(gantry token)" http://127.0.0.1:8080/iam/v2/groups
`,
  options: { identity: { type: "string" }, audience: { type: "string" } },
  async run(run) {
    noArguments(run, "token");
    const identity = option(run, "identity");
    if (identity !== undefined && !isUid(identity)) throw new Fault("INVALID_ARGUMENT", `--identity must be a uid, not ${JSON.stringify(identity)}`);
    const audience = option(run, "audience");
    const text = await withHouse(run, async ({ services, call }) => {
      if (identity !== undefined) await call("chainguard.platform.iam.v2.IdentitiesService/GetIdentity", { uid: identity });
      return mintToken(services, identity, audience);
    });
    run.out.write(`${text}\n`);
    return 0;
  },
};

const register: Command = {
  summary: "let a person of another issuer in",
  usage: `gantry register --issuer URL --subject SUBJECT [--email EMAIL] [--name NAME]

  Registers the person whom the issuer calls SUBJECT, and prints the person's uid. From then on a token of that
  issuer may be exchanged, or shown to the API directly. What the person may do is a matter of role bindings.
  Registering somebody twice changes nothing.

  Example:  gantry register --issuer https://accounts.example.com --subject 1234 --email ada@example.com
`,
  options: { issuer: { type: "string" }, subject: { type: "string" }, email: { type: "string" }, name: { type: "string" } },
  async run(run) {
    noArguments(run, "register");
    const [issuer, subject] = [option(run, "issuer"), option(run, "subject")];
    if (issuer === undefined || subject === undefined) throw new Fault("INVALID_ARGUMENT", "register needs --issuer and --subject");
    if (!["https:", "http:"].includes(URL.parse(issuer)?.protocol ?? ""))
      throw new Fault("INVALID_ARGUMENT", `--issuer must be an address, not ${JSON.stringify(issuer)}`);
    const email = option(run, "email") ?? "";
    const uid = await withHouse(run, ({ kernel }) => registerPerson(kernel, { issuer, subject, email, name: option(run, "name") ?? "" }));
    run.out.write(`${uid}\n`);
    return 0;
  },
};

const login: Command = {
  summary: "sign in at a terminal, through any browser",
  usage: `gantry login [--issuer URL] [--idp ID] [--audience AUDIENCE] [--browser | --headless]

  Signs you in and keeps the token where the platform's clients look for it: its Go SDK and Terraform provider find
  it by themselves. It prints an address and a code; open the address in any browser, on this machine or another,
  and confirm the code there. Needs nothing of the server's machine.

    --issuer URL     the server's address (GANTRY_PUBLIC_URL, or else this machine's own server)
    --idp ID         the identity provider to sign in with: its uid, or the name of a verified organization
    --audience NAME  what the token is for (the server itself)
    --browser        opens the browser of this machine, which brings the token back by itself
    --headless       prints an address only; the token comes back encrypted for this terminal

  Exit status: 0 signed in, 1 not.

  Examples:  gantry login --issuer https://gantry.example.com
             gantry login --issuer https://gantry.example.com --idp example.org --browser
`,
  options: {
    issuer: { type: "string" },
    idp: { type: "string" },
    audience: { type: "string" },
    browser: { type: "boolean" },
    headless: { type: "boolean" },
  },
  async run(run) {
    noArguments(run, "login");
    const { browser, headless } = run.values;
    if (browser && headless) throw new Fault("INVALID_ARGUMENT", "choose one of --browser and --headless");
    const way = browser ? "browser" : headless ? "headless" : "device";
    const issuer = option(run, "issuer") ?? readPublicUrl(run.environment);
    return (await import("./login/index.ts")).login(run, { issuer, way, idp: option(run, "idp"), audience: option(run, "audience") });
  },
};

const logout: Command = {
  summary: "remove the tokens of a sign-in from this machine",
  usage: `gantry logout [--issuer URL] [--audience AUDIENCE]

  Removes what gantry login has kept for this server, or for this audience.

  Example:  gantry logout --issuer https://gantry.example.com
`,
  options: { issuer: { type: "string" }, audience: { type: "string" } },
  async run(run) {
    noArguments(run, "logout");
    const audience = option(run, "audience") ?? option(run, "issuer") ?? readPublicUrl(run.environment);
    return (await import("./login/index.ts")).logout(run, audience);
  },
};

const suspension = (name: "suspend" | "resume", summary: string, tells: string): Command => ({
  summary,
  usage: `gantry ${name} ORGANIZATION

${tells}
  ORGANIZATION is its uid, or its name where no other organization has it. Works on the machine (or with the database)
  of the server, running or not.

  Example:  gantry ${name} example.org
`,
  options: {},
  async run(run) {
    const [given, ...others] = run.positionals;
    if (given === undefined || others.length > 0) throw new Fault("INVALID_ARGUMENT", `name one organization: gantry ${name} ORGANIZATION`);
    const organization = await withHouse(run, (open) => setSuspended(open, given, name === "suspend"));
    run.out.write(`${organization.uid} ${JSON.stringify(organization.name)} ${name === "suspend" ? "is suspended" : "is open again"}\n`);
    return 0;
  },
});

const suspend = suspension(
  "suspend",
  "close an organization to its members",
  `  Closes an organization to its members at once, on every server: no right in it counts any more but the operator's, and
  its identities can neither be assumed nor ask for anything. Nothing in it is lost.
`,
);

const resume = suspension(
  "resume",
  "open a suspended organization again",
  `  Opens a suspended organization to its members again: all rights in it count as before.
`,
);

const feedKinds: readonly FeedKind[] = ["advisories", "vulnerabilities", "libraries", "images"];

const importFeedInto = async (run: Run, kind: FeedKind, sources: readonly string[]): Promise<number> =>
  withHouse(run, async (open) => {
    const bar = progressBar(run.err, { lines: true });
    const group = await destination(open, option(run, "group"), "--group");
    const summary = await importFeed(open.services, {
      kind,
      group,
      sources,
      public: run.values.public === true,
      format: option(run, "format"),
      author: option(run, "author"),
      progress: bar.show,
    });
    bar.end();
    for (const refusal of summary.refused) run.err.write(`refused ${refusal}\n`);
    if (summary.refusals > summary.refused.length) run.err.write(`refused ${summary.refusals - summary.refused.length} more\n`);
    for (const failure of summary.failed) run.err.write(`failed ${failure}\n`);
    for (const [label, count] of [
      ["passed over", summary.passedOver.length],
      ["unchanged", summary.filesUnchanged],
    ] as const) {
      if (count > 0) run.err.write(`${count} of ${summary.files} files ${label}\n`);
    }
    run.out.write(
      `${kind}: ${summary.new} new, ${summary.changed} changed, ${summary.withdrawn} withdrawn, ${summary.unchanged} unchanged, ${summary.refusals} refused\n`,
    );
    return summary.failed.length > 0 ? 1 : summary.refusals > 0 ? 2 : 0;
  });

const importRegistryInto = async (run: Run, sources: readonly string[]): Promise<number> => {
  for (const name of ["public", "format", "author"]) {
    if (run.values[name] !== undefined) throw new Fault("INVALID_ARGUMENT", `--${name} is not for gantry import registry`);
  }
  return withHouse(run, async (open) => {
    const bar = progressBar(run.err);
    const group = await destination(open, option(run, "group"), "--group");
    const summary = await importRegistry(open.kernel, { group, sources, progress: bar.show });
    bar.end();
    for (const refusal of summary.refused) run.err.write(`refused ${refusal}\n`);
    run.out.write(
      `${summary.repos.seen} repos (${summary.repos.made} new), ${summary.tags.seen} tags (${summary.tags.made} new or moved), ` +
        `${summary.manifests.seen} manifests (${summary.manifests.made} new), ${summary.refused.length} refused\n`,
    );
    return summary.refused.length > 0 ? 2 : 0;
  });
};

const importCommand: Command = {
  summary: "fill the server from files and feeds",
  usage: `gantry import KIND SOURCE… [--group UID] [--public] [--format NAME] [--author NAME]

  Fills the server. KIND is one of

    registry         repos, tags and what is known of their images: a folder of JSON files, one per repo
    advisories       Wolfi and Chainguard advisory documents, OSV, RustSec, Alpine secdb, OpenVEX, CSAF
    vulnerabilities  CVE JSON 5, distilled CVE records (JSON Lines), OSV, RustSec
    libraries        artifact lists (JSON Lines), PyPI's simple JSON, Maven's metadata
    images           what images are made of (JSON Lines), and which package is built from which

  A SOURCE is a file, a folder or zip archive with all below it, or an https address; gzip is seen through. What a
  file is shows in its content, not in its name. A file that is the same as the last time is not read again, and a
  second run writes nothing; what has vanished from a source is withdrawn here. An import that was stopped goes on
  when it is started again. Works beside a running server and without one.

    --group UID    the group that it is for (the only organization when none is named)
    --public       the open operations of the Advisory domain show it too
    --format NAME  refuse files of other formats than this one
    --author NAME  who the advisories and their events are by (the format's own word)

  Exit status: 0 all imported, 2 some records were refused (each is named with file and line), 1 failed.

  Examples:
    gantry import registry ./official-image-tags
    gantry import advisories ./advisories --public
    gantry import vulnerabilities cve.jsonl ./osv ./rustsec
    gantry import advisories https://secdb.alpinelinux.org/v3.22/main.json
    gantry import libraries artifacts.jsonl --group 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567
`,
  options: { group: { type: "string" }, public: { type: "boolean" }, format: { type: "string" }, author: { type: "string" } },
  async run(run) {
    const [given = "", ...sources] = run.positionals;
    const kind = feedKinds.find((each) => each === given);
    if (kind === undefined && given !== "registry") {
      throw new Fault("INVALID_ARGUMENT", `cannot import ${JSON.stringify(given)}; possible are: registry, ${feedKinds.join(", ")}`);
    }
    if (sources.length === 0)
      throw new Fault(
        "INVALID_ARGUMENT",
        `name at least one ${kind ? "file, folder or address" : "folder or file"}: gantry import ${given} ${kind ? "SOURCE" : "DIR"}`,
      );
    return kind ? importFeedInto(run, kind, sources) : importRegistryInto(run, sources);
  },
};

const access = "gantry.access.v1.AccessService";

const explain: Command = {
  summary: "tell why an identity may do something, or may not",
  usage: `gantry explain IDENTITY ACTION PLACE [--json]

  Says whether the identity may do this at the place, and which role bindings let it; or what is missing. ACTION is
  a capability (repo.list) or an operation by its full name. Works beside a running server and without one.

  Example:  gantry explain 0a1b…/89abcdef01234567 repo.list 0a1b…
`,
  options: { json: { type: "boolean" } },
  async run(run) {
    const [identityUid, action, place, ...more] = run.positionals;
    if (identityUid === undefined || action === undefined || place === undefined || more.length > 0)
      throw new Fault("INVALID_ARGUMENT", "explain needs an identity, an action and a place");
    const reply = await withHouse(run, ({ call }) => call(`${access}/Explain`, { identityUid, action, place }));
    run.out.write(run.values.json ? `${JSON.stringify(reply)}\n` : explained(reply));
    return 0;
  },
};

const whoCan: Command = {
  summary: "list who holds a capability at a place",
  usage: `gantry who-can CAPABILITY PLACE [--json]

  Lists the identities that hold the capability at the place, each with the role bindings that give it. With --json,
  one line of JSON for each identity. Works beside a running server and without one.

  Example:  gantry who-can repo.delete 0a1b…
`,
  options: { json: { type: "boolean" } },
  async run(run) {
    const [capability, place, ...more] = run.positionals;
    if (capability === undefined || place === undefined || more.length > 0) throw new Fault("INVALID_ARGUMENT", "who-can needs a capability and a place");
    await withHouse(run, async ({ call }) => {
      for (let pageToken = ""; ; ) {
        const { holders, nextPageToken } = await call(`${access}/WhoCan`, { capability, place, pageToken, pageSize: limits.pageSizeMax });
        const page = Array.isArray(holders) ? holders.filter(isObject) : [];
        run.out.write(run.values.json ? page.map((holder) => `${JSON.stringify(holder)}\n`).join("") : whoCanLines(page));
        pageToken = typeof nextPageToken === "string" ? nextPageToken : "";
        if (pageToken === "") return;
      }
    });
    return 0;
  },
};

const events: Command = {
  summary: "watch what happens",
  usage: `gantry events tail [--group UID] [--type TYPE,…] [--past NUMBER] [--json]

  Shows events as they happen, until Ctrl-C: when, what, on which resource, by whom. Works beside a running server.

    --group UID    only of this group and below
    --type TYPE    only these types, separated by commas
    --past NUMBER  how many of the past to show first (10)
    --json         whole events, one line of JSON each

  Example:  gantry events tail --json | jq .subject
`,
  options: { group: { type: "string" }, type: { type: "string" }, past: { type: "string" }, json: { type: "boolean" } },
  async run(run) {
    if (run.positionals.join(" ") !== "tail") throw new Fault("INVALID_ARGUMENT", "what about events? gantry events tail shows them");
    const past = Number(option(run, "past") ?? "10");
    if (!Number.isInteger(past) || past < 0 || past > limits.pageSizeMax)
      throw new Fault("INVALID_ARGUMENT", `--past must be a number from 0 to ${limits.pageSizeMax}`);
    const stop = new AbortController();
    void stopSignal().then(() => stop.abort());
    await withHouse(run, (open) =>
      tailEvents(open, {
        group: option(run, "group"),
        types: (option(run, "type") ?? "").split(",").filter((type) => type !== ""),
        past,
        json: run.values.json === true,
        stopped: stop.signal,
        write: (line) => void run.out.write(`${line}\n`),
      }),
    );
    return 0;
  },
};

const audit: Command = {
  summary: "check that the audit log is what was written",
  usage: `gantry audit verify [--group UID] [--known FILE] [--json]

  Reads the audit log of every organization from its first kept entry to its sealed end, and says whether each is
  whole: nothing changed, added, put elsewhere or taken away. Works beside a running server and without one, and
  needs the server's secret key.

    --group UID   only the log of this group's organization
    --known FILE  what an earlier run printed with --json: the logs must still go through those entries. Kept where
                  nobody can reach both it and the database, it shows even what somebody with the secret key did.
                  A log whose end was not known then is not compared
    --json        one line of JSON for each organization

  Exit status: 0 whole, 1 not.

  Examples:  gantry audit verify
             gantry audit verify --json > audit-2026-11.jsonl
             gantry audit verify --known audit-2026-11.jsonl
`,
  options: { group: { type: "string" }, known: { type: "string" }, json: { type: "boolean" } },
  async run(run) {
    if (run.positionals.join(" ") !== "verify") throw new Fault("INVALID_ARGUMENT", "what about audit? gantry audit verify checks the log");
    const group = option(run, "group");
    if (group !== undefined && !isUid(group)) throw new Fault("INVALID_ARGUMENT", `--group must be a uid, not ${JSON.stringify(group)}`);
    const bar = progressBar(run.err);
    const whole = await withHouse(run, (open) =>
      verifyAudit(open, {
        group,
        known: option(run, "known"),
        json: run.values.json === true,
        write: (line) => void run.out.write(`${line}\n`),
        progress: bar.show,
      }),
    );
    bar.end();
    return whole ? 0 : 1;
  },
};

const health: Command = {
  summary: "ask the running server whether it is ready",
  usage: `gantry health

  Exit status 0 when the server answers that it is ready, 1 otherwise. For container health checks.
`,
  options: {},
  async run(run) {
    noArguments(run, "health");
    const { environment, out } = run;
    const { publicUrl, host, port, tls } = readSettings(environment);
    const open = host === "" || host === "0.0.0.0" || host === "::";
    // Through the listener itself where there is no TLS; a certificate is for the public name.
    const address = tls ? publicUrl : `http://${open ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host}:${port}`;
    try {
      const answer = await fetch(`${address}/readyz`, { signal: AbortSignal.timeout(5_000) });
      out.write(answer.ok ? "ready\n" : `not ready: ${answer.status}\n`);
      return answer.ok ? 0 : 1;
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      out.write(`no answer from ${address}: ${cause}\n`);
      return 1;
    }
  },
};

export const commands: Readonly<Record<string, Command>> = {
  serve,
  login,
  logout,
  token,
  register,
  suspend,
  resume,
  import: importCommand,
  explain,
  "who-can": whoCan,
  events,
  audit,
  health,
};

/** The help of one command, or the list of all. */
export const help = (name: string | undefined): string => {
  const command = name === undefined ? undefined : commands[name];
  if (command) return command.usage;
  const lines = Object.entries(commands).map(([each, { summary }]) => `  ${each.padEnd(10)}${summary}`);
  return `gantry: a self-hosted server for the Platform API v2

${lines.join("\n")}

gantry help COMMAND tells more; gantry --version says which one this is.
`;
};
