// `gantry token`: mints a token for testing.

import type { Command } from "commander";
import { mintToken } from "#application";
import { Fault } from "#base/fault.ts";
import { isUid } from "#base/uid.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

interface Options {
  readonly identity?: string;
  readonly audience?: string;
}

export const tokenCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "token",
    usage: "[--identity UID] [--audience AUDIENCE]",
    description: `Prints a token, valid for one hour, and nothing else. Without --identity it is the operator's, who may do
everything. Works on the machine (or with the database) of the server, running or not.`,
    notes: `Example:  curl -H "Authorization: Bearer $(gantry token)" http://127.0.0.1:8080/iam/v2/groups`,
  })
    .option("--identity <UID>", "whose token (the operator's)")
    .option("--audience <AUDIENCE>", "what the token is for (the server itself)")
    .action(async ({ identity, audience }: Options) => {
      if (identity !== undefined && !isUid(identity)) throw new Fault("INVALID_ARGUMENT", `--identity must be a uid, not ${JSON.stringify(identity)}`);
      const minted = await withApplication(terminal, async ({ services, call }) => {
        if (identity !== undefined) await call("chainguard.platform.iam.v2.IdentitiesService/GetIdentity", { uid: identity });
        return mintToken(services, identity, audience);
      });
      terminal.out.write(`${minted}\n`);
    });
