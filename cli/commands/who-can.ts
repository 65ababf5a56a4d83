// `gantry who-can`: who holds a capability at a place.

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
    usage: "CAPABILITY PLACE [--json]",
    description: `Lists the identities that hold the capability at the place, each with the role bindings that give it. With --json,
one line of JSON for each identity. PLACE is a group: its uid, or its path of names. Works beside a running server and without one.`,
    notes: "Example:  gantry who-can repo.delete acme/team",
    wrongArguments: "who-can needs a capability and a place",
  })
    .argument("<CAPABILITY>")
    .argument("<PLACE>")
    .option("--json", "one line of JSON for each identity")
    .action(async (capability: string, place: string, { json }: { readonly json?: boolean }) =>
      withApplication(terminal, async ({ call }) => {
        const group = await findNamedGroup(call, place, "PLACE: ");
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
