// Public entry point of the kernel: declare a resource, open the kernel, serve.

export { type Admit, makeAdmit } from "./admit.ts";
export { answerPage } from "./page-request.ts";
export { checkMessage, withoutOutputOnly } from "./field-behavior.ts";
export { type Call, type CallContent, requestSourceOf, type Reply, type ReplyContent, type ReplyFile, type Serve, type UnreadCall } from "./call.ts";
export type { Cause, ChangeContext, Context, FindPlace, Delegation, Place, Services, Outcome, ReadContext, WriteContext, Writes } from "./context.ts";
export { eventOf, registrySource, toldEvent } from "./event.ts";
export { type ImportCall, runImport } from "./import.ts";
export { hydrate } from "./hydrate.ts";
export { etagOf } from "./safe-write.ts";
export { changeContext, type Kernel, openKernel } from "./kernel.ts";
export { applyMask, readMask } from "./mask.ts";
export { keyForCaller, keyForAddress } from "./fairness-keys.ts";
export { requireAnywhere, requireNotSuspended } from "./permit.ts";
export { type BoundResource, boundOf, type VisibilityQuery, type Resource, resource, type RuleContext } from "./resource.ts";
export { namingQuota } from "./quota.ts";
export { makeServe } from "./serve.ts";
export { type Terms, type TermsDocument, termsOf, type TermsSettings } from "./terms.ts";
export { create, holdParent } from "./verbs/create.ts";
export { change, lockResource, type ReportedBy, undelete } from "./change.ts";
export { get } from "./verbs/get.ts";
export { history, untilConditions } from "./verbs/history.ts";
export { type CountListed, findListed, list, listByUids, listedBranches, listMethodOf } from "./verbs/list.ts";
export { remove } from "./verbs/delete.ts";
export { update } from "./verbs/update.ts";
export { ownWholeList } from "./view.ts";
