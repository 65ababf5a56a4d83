// Limits of API clients with their reasons, apart from the server's limits, which clients do not load.

export const clientLimits = {
  /**
   * Timeout of a call with all attempts; attempts; first pause, doubled up to the maximum; largest response (unpaged lists of
   * version 1); token lifetime left at renewal.
   */
  clientTimeoutMs: 60_000,
  clientTriesMax: 4,
  clientPauseMs: 200,
  clientPauseMaxMs: 10_000,
  clientAnswerBytesMax: 100 * 1024 * 1024,
  clientTokenLeftMs: 5 * 60 * 1000,
  /** Polling interval for events: a second is not noticed. */
  clientWatchPollMs: 1_000,
  /** requirement: Limits; the largest page. */
  clientWatchPageSize: 200,
  /** Standard Webhooks: deliveries with a larger time difference are refused as replays. */
  webhookToleranceMs: 5 * 60 * 1000,
  /** RFC 8628 §3.2, §3.5: polling interval of a device, and how much it grows if the server asks for it. */
  devicePollIntervalMs: 5_000,
  devicePollSlowerMs: 5_000,
} as const;
