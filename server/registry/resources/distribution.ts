// The operations of the OCI Distribution protocol on repos, manifests and blobs. Repos and tags change as by any other operation.

import { resource } from "#kernel";
import { deleteBlob, getBlob } from "./distribution/blobs.ts";
import { listCatalog } from "./distribution/catalog.ts";
import { deleteManifest, deleteRepoTag, getManifest, listReferrers, listRepoTags } from "./distribution/manifests.ts";
import { putManifest } from "./distribution/put-manifest.ts";
import { findScopedPlace } from "./distribution/token-scope.ts";
import { appendUpload, cancelUpload, finishUpload, getUpload, startUpload } from "./distribution/uploads.ts";

export const distribution = resource({
  service: "gantry.registry.v1.DistributionService",
  message: "gantry.registry.v1.StoredContent",
  findPlace: findScopedPlace,
  methods: {
    GetDistribution: { reads: async () => ({ reply: {} }) },
    ListCatalog: { reads: listCatalog },
    ListRepoTags: { reads: listRepoTags },
    GetManifest: { reads: getManifest },
    PutManifest: { asks: putManifest },
    DeleteManifest: { writes: deleteManifest },
    DeleteRepoTag: { writes: deleteRepoTag },
    GetBlob: { reads: getBlob },
    DeleteBlob: { writes: deleteBlob },
    StartUpload: { asks: startUpload },
    GetUpload: { reads: getUpload },
    AppendUpload: { asks: appendUpload },
    FinishUpload: { asks: finishUpload },
    CancelUpload: { writes: cancelUpload },
    ListReferrers: { reads: listReferrers },
  },
});
