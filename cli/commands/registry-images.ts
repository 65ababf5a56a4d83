// `gantry registry images`: compare the packages of two images, and print the SBOM of one.

import type { Command } from "commander";
import { type JsonObject, objectList, text, texts } from "#base/json.ts";
import { messageByName, methodByName } from "#contract/catalog.ts";
import type { MethodFact } from "#contract/facts.ts";
import type { Client } from "#contract-client";
import { newCommand, newGroup } from "../command.ts";
import { addServerOptions, findContext } from "../context.ts";
import { wrongUsage } from "../exit-status.ts";
import { findOrganizationName, pathIn, readNamedImage } from "../named-image.ts";
import { onOneLine, printableJson } from "../output/escape.ts";
import { formatTable } from "../table.ts";
import type { Terminal } from "../terminal.ts";

interface ServerOptions {
  readonly server?: string;
  readonly context?: string;
}

interface DiffOptions extends ServerOptions {
  readonly architecture?: string;
  readonly json?: boolean;
}

interface SbomOptions extends ServerOptions {
  readonly architecture?: string;
  readonly format: string;
}

const service = "gantry.images.v1.ImagePackagesService";
const statePrefix = "IMAGE_CONTENTS_STATE_";

const methodOf = (rpc: string): MethodFact => {
  const method = methodByName(`${service}/${rpc}`);
  if (method === undefined) throw new Error(`the contract has no ${rpc}`);
  return method;
};

interface FoundImage {
  readonly repoUid: string;
  readonly reference: string;
}

interface Images {
  readonly client: Client;
  /** Throws if the text names no image, or no repo that the caller can list. */
  readonly find: (name: string, given: string) => Promise<FoundImage>;
}

const openImages = async (terminal: Terminal, options: ServerOptions): Promise<Images> => {
  const { server, organization, credential } = findContext(terminal, options);
  const [{ createClient }, { openNames }, { openPaths }] = await Promise.all([
    import("#contract-client"),
    import("../operations/references.ts"),
    import("../operations/paths.ts"),
  ]);
  const client = createClient({ server, token: credential.token });
  const names = openNames(client, openPaths(client));
  const repo = messageByName("chainguard.platform.registry.v2.Repo");
  if (!repo) throw new Error("the contract has no repos");
  const name = await findOrganizationName(client, organization);
  return {
    client,
    find: async (argument, given) => {
      const image = readNamedImage(given);
      if (image.repo === "" || image.reference === "") throw wrongUsage(`${argument} must be REPO:TAG or REPO@DIGEST, not ${JSON.stringify(given)}`);
      return { repoUid: await names.resolve("", [repo], pathIn(name, image.repo)), reference: image.reference };
    },
  };
};

const marks: Readonly<Record<string, string>> = { ADDED: "+", REMOVED: "-", CHANGED: "~" };

const versionsText = (change: JsonObject): string => {
  const [from, to] = [texts(change, "fromVersions").join(", "), texts(change, "toVersions").join(", ")];
  return from === "" ? to : to === "" ? from : `${from} -> ${to}`;
};

const shownChange = (change: JsonObject): string[] =>
  [marks[text(change, "kind").replace("IMAGE_PACKAGE_CHANGE_KIND_", "")] ?? "?", text(change, "type"), text(change, "name"), versionsText(change)].map(
    onOneLine,
  );

/** Returns a note for an image that was not read completely; "" otherwise. */
const noteOf = (given: string, state: string): string =>
  state === `${statePrefix}INDEXED` ? "" : `${given}: not all layers were read (${state.replace(statePrefix, "")}), so packages can be missing.\n`;

const diffCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "diff",
      usage: "FROM TO [--architecture A] [--json] [--server URL] [--context NAME]",
      description: `Compare the packages of two images: added (+), removed (-) and changed (~). FROM and TO are REPO:TAG or REPO@DIGEST, of one repo or
of two. A repo is a uid, or a path of names from the organization on. Below the organization of the context, you can omit its name.`,
      notes: `Examples:
  gantry registry images diff acme/app:1.0 acme/app:1.1
  gantry registry images diff acme/app:1.0 acme/prod/app@sha256:2c26… --json`,
      wrongArguments: "two images required: gantry registry images diff REPO:TAG REPO:TAG",
    }),
  )
    .summary("Compare the packages of two images")
    .argument("<FROM>")
    .argument("<TO>")
    .option("--architecture <A>", "Architecture of images that have several (default: amd64)")
    .option("--json", "Print each difference as one line of JSON")
    .action(async (given: string, givenTo: string, options: DiffOptions) => {
      const images = await openImages(terminal, options);
      const [from, to] = [await images.find("FROM", given), await images.find("TO", givenTo)];
      const { architecture = "", json = false } = options;
      const request = { ...from, toRepoUid: to.repoUid, toReference: to.reference, ...(architecture === "" ? {} : { architecture }), pageSize: 200 };
      const changes: JsonObject[] = [];
      let notes = "";
      for await (const page of images.client.pages(methodOf("CompareImages"), request)) {
        changes.push(...objectList(page, "changes"));
        notes = noteOf(given, text(page, "state")) + noteOf(givenTo, text(page, "toState"));
      }
      terminal.err.write(notes);
      if (json) terminal.out.write(changes.map((change) => `${printableJson(JSON.stringify(change))}\n`).join(""));
      else terminal.out.write(changes.length === 0 ? "No differences.\n" : `${formatTable(changes.map(shownChange))}\n`);
    });

const formats: ReadonlyMap<string, string> = new Map([
  ["spdx", "IMAGE_SBOM_FORMAT_SPDX_2_3"],
  ["spdx3", "IMAGE_SBOM_FORMAT_SPDX_3_0"],
  ["cyclonedx", "IMAGE_SBOM_FORMAT_CYCLONEDX_1_6"],
]);

const sbomCommand = (terminal: Terminal): Command =>
  addServerOptions(
    newCommand({
      name: "sbom",
      usage: "IMAGE [--format FORMAT] [--architecture A] [--server URL] [--context NAME]",
      description: `Print an SBOM of an image as JSON: the packages in its layers, and those that pushed SBOMs name. IMAGE is REPO:TAG or REPO@DIGEST.
A repo is a uid, or a path of names from the organization on. Below the organization of the context, you can omit its name.`,
      notes: `Examples:
  gantry registry images sbom acme/app:1.0 > app.spdx.json
  gantry registry images sbom acme/app:1.0 --format cyclonedx`,
      wrongArguments: "image required: gantry registry images sbom REPO:TAG",
    }),
  )
    .summary("Print an SBOM of an image")
    .argument("<IMAGE>")
    .option("--format <FORMAT>", "spdx (2.3), spdx3 (3.0.1) or cyclonedx (1.6)", "spdx")
    .option("--architecture <A>", "Architecture, if the image has several (default: amd64)")
    .action(async (given: string, options: SbomOptions) => {
      const format = formats.get(options.format);
      if (format === undefined) throw wrongUsage(`--format must be ${[...formats.keys()].join(", ")}, not ${JSON.stringify(options.format)}`);
      const images = await openImages(terminal, options);
      const { architecture = "" } = options;
      const request = { ...(await images.find("IMAGE", given)), format, ...(architecture === "" ? {} : { architecture }) };
      const reply = await images.client.call(methodOf("ExportImageSbom"), request);
      terminal.err.write(noteOf(given, text(reply, "state")));
      terminal.out.write(`${printableJson(text(reply, "document"))}\n`);
    });

export const imagesCommand = (terminal: Terminal): Command =>
  newGroup("images", [diffCommand(terminal), sbomCommand(terminal)], "subcommand required: diff or sbom. Run gantry help registry images for details").summary(
    "Compare the packages of images, and print SBOMs",
  );
