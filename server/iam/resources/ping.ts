// A reachability check.

import { resource } from "#kernel";

export const ping = resource({
  service: "chainguard.platform.ping.v2.PingService",
  message: "chainguard.platform.ping.v2.PingResponse",
  methods: { Ping: { reads: async () => ({ reply: { response: "pong" } }) } },
});
