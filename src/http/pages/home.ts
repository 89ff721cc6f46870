/** The page at "/" in an installation without the built dashboard. */

const HOME_TEXT = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>perpinfo</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem}</style>
<h1>perpinfo</h1>
<p>Exact answers about perpetuals accounts, staking delegations and the deployment auction.</p>
<p>Ask with <code>POST /{key}/info</code>.</p>
<ul>
<li><a href="/health">health</a>: how fresh the answers are</li>
<li><a href="/openapi.json">openapi.json</a>: the interface as OpenAPI 3.1</li>
<li><a href="/llms.txt">llms.txt</a>: the interface in prose, for language models</li>
</ul>
</html>
`;

export function formatHome(): string {
  return HOME_TEXT;
}
