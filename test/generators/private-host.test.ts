import { expect, it } from "vitest";
import { isPrivateHost } from "../../src/generators/private-host.ts";

it.each([
  "http://localhost:1234",
  "http://127.0.0.1",
  "http://[::1]:8080",
  "http://10.0.0.7",
  "http://172.31.255.255",
  "http://192.168.1.20:7860",
  "http://169.254.1.1",
  "http://100.100.1.2",
  "http://[fd12::1]",
  "http://[fe80::1]",
  "http://[::ffff:192.168.1.20]",
  "http://gpubox:1234",
  "http://gpubox.local",
  "http://gpubox.lan.",
  "http://GPUBOX.home.arpa",
  "http://gpu.corp.internal",
])("%s is in a private network", (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(true);
});

it.each([
  "https://api.openai.com",
  "http://8.8.8.8",
  "http://172.32.0.1",
  "http://100.128.0.1",
  "http://[2001:4860:4860::8888]",
  "http://[::ffff:8.8.8.8]",
  "http://local.example.com",
  "http://gpubox.local.example",
])("%s is not, as far as its name or address says", (url) => {
  expect(isPrivateHost(new URL(url).hostname)).toBe(false);
});
