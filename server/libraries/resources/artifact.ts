// The catalog of libraries: the same for every organization, filled by imports.

import { messageNamed } from "#contract/catalog.ts";
import { invalid, missing } from "#base/fault.ts";
import { type JsonObject, text, texts } from "#base/json.ts";
import { pageOf } from "#base/page.ts";
import { answerPage, type Outcome, type ReadContext, requireAnywhere, resource } from "#kernel";
import { type ArtifactRow, countArtifacts, countVersions, findArtifacts, findArtifactVersions, type LibraryFilter, type VersionRow } from "#libraries/store";

const unspecified = messageNamed("chainguard.platform.libraries.v2.Artifact").byName.get("ecosystem")?.enum?.names.get(0) ?? "";

/** Returns the distinct requested ecosystems; throws INVALID_ARGUMENT for the unspecified one (resources: Artifacts). */
const ecosystemsOf = (request: JsonObject): string[] => {
  const ecosystems = [...new Set(texts(request, "ecosystems"))];
  if (ecosystems.includes(unspecified)) throw invalid([{ field: "ecosystems", description: `must not be ${unspecified}` }]);
  return ecosystems;
};

const artifactMessage = ({ uid, name, description, ecosystem, latestVersion, versionCount, createTime, updateTime }: ArtifactRow): JsonObject => ({
  uid,
  name,
  ...(description === "" ? {} : { description }),
  ecosystem,
  ...(latestVersion === "" ? {} : { latestVersion }),
  versionCount,
  createTime,
  updateTime,
});

const listArtifacts = async (context: ReadContext): Promise<Outcome> => {
  requireAnywhere(context);
  const { request, rows } = context;
  const filter: LibraryFilter = {
    ecosystems: ecosystemsOf(request),
    query: text(request, "query"),
    cudaVersion: text(request, "cudaVersion"),
    remediated: request.remediated === true,
  };
  return answerPage(context, async (page) => {
    const [found, counted] = await Promise.all([findArtifacts(rows, filter, page), page.total === undefined ? countArtifacts(rows, filter) : undefined]);
    return pageOf(
      page,
      found.map((row) => ({ key: row.key, record: artifactMessage(row) })),
      counted ? [...counted.values()].reduce((one, other) => one + other, 0) : (page.total ?? 0),
    );
  });
};

const versionMessage = ({ uid, name, version, description, createTime, updateTime, sizeBytes }: VersionRow): JsonObject => ({
  uid,
  name,
  version,
  ...(description === "" ? {} : { description }),
  createTime,
  updateTime,
  sizeBytes,
});

const listVersions = async (context: ReadContext): Promise<Outcome> => {
  requireAnywhere(context);
  const { request, rows } = context;
  const artifact = text(request, "artifactId");
  return answerPage(context, async (page) => {
    const [found, counted] = await Promise.all([findArtifactVersions(rows, artifact, page), page.total ?? countVersions(rows, artifact)]);
    if (!found) throw missing("libraries", "Artifact", artifact);
    return pageOf(
      page,
      found.map((row) => ({ key: row.key, record: versionMessage(row) })),
      counted,
    );
  });
};

const getCount = async (context: ReadContext): Promise<Outcome> => {
  requireAnywhere(context);
  const { request, rows } = context;
  const ecosystems = ecosystemsOf(request);
  const counted = await countArtifacts(rows, { ecosystems, query: "", cudaVersion: "", remediated: false });
  return { reply: { counts: ecosystems.map((ecosystem) => ({ ecosystem, totalCount: String(counted.get(ecosystem) ?? 0) })) } };
};

export const artifact = resource({
  service: "chainguard.platform.libraries.v2.ArtifactsService",
  message: "chainguard.platform.libraries.v2.Artifact",
  methods: {
    ListArtifacts: { reads: listArtifacts },
    ListArtifactVersions: { reads: listVersions },
    GetArtifactCount: { reads: getCount },
  },
});
