// `gantry who-can`: list who has a capability on a resource.

import type { Command } from "commander";
import { findNamedGroup } from "#application";
import { isObject } from "#base/json.ts";
import { limits } from "#base/limits.ts";
import { holdersText } from "../access-report.ts";
import { withApplication } from "../application.ts";
import { newCommand } from "../command.ts";
import type { Terminal } from "../terminal.ts";

export const whoCanCommand = (terminal: Terminal): Command =>
  newCommand({
    name: "who-can",
    usage: "CAPABILITY GROUP [--json]",
    description: `List the identities that have the capability in the group, with the role bindings that grant it. GROUP is a uid or a path of
names. The server can be running or stopped.`,
    notes: "Example:  gantry who-can repo.delete acme/team",
    wrongArguments: "capability and group required: gantry who-can CAPABILITY GROUP",
  })
    .argument("<CAPABILITY>")
    .argument("<GROUP>")
    .option("--json", "Print one line of JSON for each identity")
    .action(async (capability: string, place: string, { json }: { readonly json?: boolean }) =>
      withApplication(terminal, async ({ call }) => {
        const group = await findNamedGroup(call, place, "GROUP: ");
        for (let pageToken = ""; ; ) {
          const request = { capability, place: group, pageToken, pageSize: limits.pageSizeMax };
          const { holders, nextPageToken } = await call("gantry.access.v1.AccessService/WhoCan", request);
          const page = Array.isArray(holders) ? holders.filter(isObject) : [];
          terminal.out.write(json ? page.map((holder) => `${JSON.stringify(holder)}\n`).join("") : holdersText(page));
          pageToken = typeof nextPageToken === "string" ? nextPageToken : "";
          if (pageToken === "") return;
        }
      }),
    );
