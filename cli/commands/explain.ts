// `gantry explain`: why an identity may do something, or may not.

import type { Command } from "commander";
import { findNamedGroup } from "#application";
import { explainText } from "../access-report.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const explainCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "explain",
    usage: "IDENTITY ACTION PLACE [--json]",
    description: `Says whether the identity may do this at the place, and which role bindings let it; or what is missing. ACTION is
a capability (repo.list) or an operation by its full name; PLACE is a group: its uid, or its path of names. Works beside a running server and without one.`,
    notes: "Example:  gantry explain 0a1b…/89abcdef01234567 repo.list acme/team",
    wrongArguments: "explain needs an identity, an action and a place",
  })
    .argument("<IDENTITY>")
    .argument("<ACTION>")
    .argument("<PLACE>")
    .option("--json", "the answer of the API, as one line of JSON")
    .action(async (identityUid: string, action: string, place: string, { json }: { readonly json?: boolean }) => {
      const reply = await withApplication(terminal, async ({ call }) =>
        call("gantry.access.v1.AccessService/Explain", { identityUid, action, place: await findNamedGroup(call, place, "PLACE: ") }),
      );
      terminal.out.write(json ? `${JSON.stringify(reply)}\n` : explainText(reply));
    });
