// `gantry serve`: runs the server until it is stopped.

import type { Command } from "commander";
import { readSettings, startServer } from "#application";
import { newCommand } from "../command.ts";
import { stopSignal } from "../stop-signal.ts";
import type { Terminal } from "../terminal.ts";

const description = `Runs the server until it is stopped. Settings come from the environment:

  GANTRY_LISTEN           address and port (127.0.0.1:8080)
  GANTRY_DATA             data directory (./gantry-data)
  DATABASE_URL            a PostgreSQL to use instead of the embedded one
  GANTRY_MIGRATE_URL      the connection of the role that owns that database, for migrations (DATABASE_URL)
  GANTRY_PUBLIC_URL       the address that clients use; also the issuer of tokens
  GANTRY_TLS_CERT         certificate file: the port speaks TLS
  GANTRY_TLS_KEY          its key file
  GANTRY_SERVICE_DOMAIN   the domain in error details (gantry.local)
  GANTRY_AUDIENCES        further audiences whose tokens are accepted
  GANTRY_EGRESS_ALLOW     private addresses that may be reached, as CIDRs
  GANTRY_ISSUER_HOSTS     hosts of issuers that patterns may lead to without naming them (none)
  GANTRY_MAIL_ISSUERS     issuers believed about e-mail addresses, and of which domains: ISSUER=DOMAIN|DOMAIN,… (none)
  GANTRY_SECRET_KEY_FILE  the key that seals secrets (made in GANTRY_DATA; required with DATABASE_URL)
  GANTRY_CORS_ORIGINS     origins whose pages may call the API (none)
  GANTRY_TRUSTED_PROXIES  proxies whose X-Forwarded-For is believed, as addresses or CIDRs (none)
  GANTRY_CONNECTIONS_PER_ADDRESS  connections that one client address may have (1000)
  GANTRY_TERMS_FILE       documents to accept, and what needs them, as JSON
  GANTRY_FEEDS            a file of imports that the server repeats by itself
  GANTRY_BLOBS            where the layers of images lie: a path, or s3://BUCKET/PREFIX?region=… (blobs in GANTRY_DATA)
  GANTRY_BLOBS_REDIRECT   true: pulls of layers are sent to the S3 storage (false)
  GANTRY_ANONYMOUS_PULL   true: every repo can be pulled from without a token (false)
  GANTRY_OPEN_ORGANIZATIONS  true: people may make organizations (false)
  GANTRY_AWS_STS_URL      where signed AWS requests are verified (the AWS STS host that they name)
  GANTRY_DELIVERY_DELAYS  seconds before each attempt to deliver an event (0,5,300,1800,7200,18000,36000,36000)
  GANTRY_AUDIT_MONTHS     months of the audit log that are kept, the running one included (13)
  GANTRY_FREE_MAIL_DOMAINS  further mail domains that are nobody's company`;

export const serveCommand = ({ environment, log, err }: Terminal): Command =>
  newCommand({
    name: "serve",
    description,
    notes: "Example:  GANTRY_LISTEN=0.0.0.0:8080 GANTRY_PUBLIC_URL=https://gantry.example.com gantry serve",
  }).action(async () => {
    const settings = readSettings(environment);
    // From here on: stopped during the start, it ends right after it.
    const stopped = stopSignal();
    const server = await startServer(settings, { log, progress: (line) => err.write(`${line}\n`) });
    const lines = [`Gantry serves ${settings.publicUrl}`];
    if (server.firstOrganization) lines.push(`Made a first organization: ${server.firstOrganization}`);
    lines.push("For a token to try it with, in another terminal:  npx gantry token");
    err.write(`${lines.join("\n")}\n`);
    await stopped;
    err.write("Stopping: finishing what is in flight\n");
    await server.close();
  });
