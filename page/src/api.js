// Questions to the server, or in a page without one to the data inside it.

import { LocalTables } from "./local.js";

class Server {
  constructor() {
    this.kept = new Map();
  }

  async ask(name, parameters = {}, { fresh = false } = {}) {
    const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== "" && value !== undefined));
    const address = `/api/${name}?${query}`;
    if (!fresh && this.kept.has(address)) return this.kept.get(address);
    let response;
    try {
      response = await fetch(address);
    } catch {
      throw new Error("The server does not answer. Is wordstill explore still running?");
    }
    const content = await response.json();
    if (!response.ok) throw Object.assign(new Error(content.error ?? `Error ${response.status}`), { near: content.near });
    if (!fresh) {
      if (this.kept.size > 500) this.kept.clear();
      this.kept.set(address, content);
    }
    return content;
  }
}

export async function connect() {
  const embedded = document.getElementById("data");
  return embedded ? LocalTables.open(JSON.parse(embedded.textContent)) : new Server();
}
