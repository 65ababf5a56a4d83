// The vulnerability report of an image, in version 1's form.

import { missing } from "#base/fault.ts";
import { text } from "#base/json.ts";
import { unpackFindings } from "#advisories/feeds";
import { type Outcome, type ReadContext, resource } from "#kernel";
import { derivedUidOf, findVulnReport } from "#advisories/store";
import { unjudgedOfDigests } from "./coverage/statement.ts";
import { imageReportOf, isOwnReport, withUnjudged } from "./reports/shown.ts";

const getVulnReport = async (context: ReadContext): Promise<Outcome> => {
  const { request, rows } = context;
  const [repoUid, digest] = [text(request, "repoId"), text(request, "digest")];
  const found = await findVulnReport(rows, repoUid, digest);
  if (!found) throw missing("registry", "VulnReport", digest);
  const id = `${repoUid}/${derivedUidOf("vulnerability report", found.id).slice(0, 16)}`;
  const [unjudged = []] = isOwnReport(found) ? await unjudgedOfDigests(context, [found]) : [];
  return { reply: withUnjudged(imageReportOf(id, found, await unpackFindings(found.findings)), unjudged) };
};

export const imageReport = resource({
  service: "chainguard.platform.registry.Registry",
  message: "chainguard.platform.registry.VulnReportRequest",
  methods: { GetVulnReport: { reads: getVulnReport } },
});
