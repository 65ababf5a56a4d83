// The bounds of a client of the API, each with its reason. Apart from those of the server, which no client loads.

export const clientLimits = {
  /**
   * A call with all its tries, the tries, the pause before the second one and the longest (each next one is twice as long), the largest
   * response (lists of version 1 that have no pages), and how long before it expires a token is renewed.
   */
  clientTimeoutMs: 60_000,
  clientTriesMax: 4,
  clientPauseMs: 200,
  clientPauseMaxMs: 10_000,
  clientAnswerBytesMax: 100 * 1024 * 1024,
  clientTokenLeftMs: 5 * 60 * 1000,
  /** How often a program that waits for events asks for new ones: a second more or less is not noticed. */
  clientWatchPollMs: 1_000,
  /** requirement: Limits; the largest page. */
  clientWatchPageSize: 200,
  /** Standard Webhooks: a delivery whose time is further off than this is refused as a replay. */
  webhookToleranceMs: 5 * 60 * 1000,
  /** RFC 8628, 3.2 and 3.5: how often a device asks for its token, and how much more slowly once the server says so. */
  devicePollIntervalMs: 5_000,
  devicePollSlowerMs: 5_000,
} as const;
