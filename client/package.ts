// The exports of `@gantry/client`.

export type { ApiFile } from "./answer.ts";
export { ApiCall, type ApiResponse } from "./api-call.ts";
export { ApiError, type ErrorDetail, type Reason } from "./error.ts";
export { exchangedToken, type ExchangeOptions } from "./exchange.ts";
export { Gantry, type GantryOptions, type WatchedEvent, type WatchOptions } from "./gantry.ts";
export type * from "./gen/messages.ts";
export { List } from "./list.ts";
export {
  type DeviceCode,
  type DeviceOptions,
  finishSignIn,
  OAuthError,
  type PendingSignIn,
  refreshedToken,
  type RefreshOptions,
  type SignInOptions,
  signInWithDevice,
  startSignIn,
  type Tokens,
} from "./oauth.ts";
export type { Fetch } from "./rest.ts";
export { fileToken, type IssuedToken, keptToken, type KeptTokenOptions, type TokenSource, type TokenWanted } from "./tokens.ts";
export type { ListOptions, RequestOptions } from "./typed-client.ts";
export { verifyWebhook, WebhookError, type WebhookEvent, type WebhookOptions, type WebhookProblem, type WebhookRequest } from "./webhook.ts";
