// `new Gantry({ server, token })`: each resource of the API is a member.

import { clientLimits } from "#base/client-limits.ts";
import { isObject, type Json, type JsonObject, part } from "#base/json.ts";
import { type ClientOptions, createClient } from "./client.ts";
import type { Event } from "./gen/messages.ts";
import { ResourcesApi } from "./gen/resources.ts";
import { pause } from "./retries.ts";
import { TypedClient } from "./typed-client.ts";

export type GantryOptions = Omit<ClientOptions, "clock">;

export interface WatchOptions {
  /** Only events of this group and everything below it (default: all that the caller may see). */
  readonly group?: string | undefined;
  /** Only events of these types. */
  readonly types?: readonly string[] | undefined;
  /** Continue after this `position`; "0" for every event that is stored (default: only new events). */
  readonly after?: string | undefined;
  /** Ends the iteration, which then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** How often it asks for new events (default: every second). */
  readonly pollMs?: number | undefined;
}

/** An event with its data parsed. */
export interface WatchedEvent extends Event {
  /** The caller that caused it. */
  actor: JsonObject;
  /** The message that `bodyType` names. */
  body: JsonObject;
}

const parsedEvent = (event: Event): WatchedEvent => {
  const data = JSON.parse(event.data) as Json;
  const fields = isObject(data) ? data : {};
  return { ...event, actor: part(fields, "actor"), body: part(fields, "body") };
};

/**
 * A client of one Gantry server. It sends nothing before the first request.
 *
 * @example
 * ```ts
 * const gantry = new Gantry({ server: "https://gantry.example.com", token: "eyJ..." });
 * for await (const repo of gantry.registry.repos.list({ parent: "GROUP_UID" })) console.log(repo.name);
 * ```
 */
export class Gantry extends ResourcesApi {
  /** The server's URL, without a trailing slash. */
  readonly server: string;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>;

  constructor(options: GantryOptions) {
    const client = createClient(options);
    super(new TypedClient(client));
    this.server = client.server;
    this.#wait = options.wait ?? pause;
  }

  /**
   * Iterates over events as they happen, in the order of their `position`. Store the last position, and pass it as `after` to continue
   * there: no event is missed within the 30 days that events are kept.
   *
   * @example
   * ```ts
   * for await (const event of gantry.watchEvents({ group: "GROUP_UID", after: "0" })) {
   *   console.log(event.position, event.type, event.subject);
   * }
   * ```
   */
  async *watchEvents({ group, types, after, signal, pollMs = clientLimits.clientWatchPollMs }: WatchOptions = {}): AsyncGenerator<WatchedEvent> {
    const filter = { ...(group === undefined ? {} : { uidp: { descendantsOf: group } }), ...(types === undefined ? {} : { types }) };
    const options = { signal };
    const read = async (page: object): Promise<Event[]> => (await this.events.list({ ...filter, ...page }, options).page()).events;
    let position = after ?? (await read({ orderBy: "position desc", pageSize: 1 }))[0]?.position ?? "0";
    const stop = signal ?? new AbortController().signal;
    for (;;) {
      const events = await read({ afterPosition: position, orderBy: "position", pageSize: clientLimits.clientWatchPageSize });
      for (const event of events) {
        position = event.position;
        yield parsedEvent(event);
      }
      if (events.length < clientLimits.clientWatchPageSize) await this.#wait(pollMs, stop);
    }
  }
}
