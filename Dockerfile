# Build with the compiler, run without it.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json vite.config.ts ./
RUN npm ci --ignore-scripts
COPY src ./src
COPY web ./web
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
WORKDIR /app
ENV NODE_ENV=production PERPINFO_DATA=/data PERPINFO_HOST=0.0.0.0 PERPINFO_ADMIN_HOST=0.0.0.0
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY bin ./bin
RUN install -d -m 0700 -o node -g node /data
USER node
VOLUME /data
# 8080 answers questions, 9464 has the metrics: publish the latter to yourself only.
EXPOSE 8080 9464
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (parseInt(process.env.PERPINFO_PORT) || 8080) + '/health').then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/perpinfo.js"]
CMD ["serve"]
