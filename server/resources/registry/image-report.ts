// The report on an image of a repo, as version 1 shows it.

import { Registry, VulnReportRequestSchema } from "#contract/gen/chainguard/platform/registry/registry_pb.js";
import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { unpackFindings } from "#feeds";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { derivedUidOf, findVulnReport } from "#store";
import { imageReportOf } from "./reports/shown.ts";

const getVulnReport = async ({ request, rows }: ReadContext): Promise<Outcome> => {
  const [repoUid, digest] = [text(request, "repoId"), text(request, "digest")];
  const found = await findVulnReport(rows, repoUid, digest);
  if (!found) throw missing("registry", "VulnReport", digest);
  const id = `${repoUid}/${derivedUidOf("vulnerability report", found.id).slice(0, 16)}`;
  return { reply: imageReportOf(id, found, await unpackFindings(found.findings)) };
};

export const imageReport = resource({ service: Registry, message: VulnReportRequestSchema, methods: { GetVulnReport: { reads: getVulnReport } } });
