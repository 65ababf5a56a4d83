// `gantry explain`: explain why an identity has or lacks a permission.

import type { Command } from "commander";
import { findNamedGroup } from "#application";
import { explainText } from "../access-report.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const explainCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "explain",
    usage: "IDENTITY ACTION GROUP [--json]",
    description: `Explain whether the identity is allowed to perform the action in the group, and which role bindings grant it, or what is
missing. ACTION is a capability (repo.list) or the full name of an operation. GROUP is a uid or a path of names. The server
can be running or stopped.`,
    notes: "Example:  gantry explain 0a1b…/89abcdef01234567 repo.list acme/team",
    wrongArguments: "identity, action and group required: gantry explain IDENTITY ACTION GROUP",
  })
    .argument("<IDENTITY>")
    .argument("<ACTION>")
    .argument("<GROUP>")
    .option("--json", "Print the API's response as one line of JSON")
    .action(async (identityUid: string, action: string, place: string, { json }: { readonly json?: boolean }) => {
      const reply = await withApplication(terminal, async ({ call }) =>
        call("gantry.access.v1.AccessService/Explain", { identityUid, action, place: await findNamedGroup(call, place, "GROUP: ") }),
      );
      terminal.out.write(json ? `${JSON.stringify(reply)}\n` : explainText(reply));
    });
