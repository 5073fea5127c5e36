//! What tables do with the connections: reads, single statements, transactions. Their errors name the database.

use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqlitePool, SqliteQueryResult};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection, Transaction};

use super::Pools;
use crate::error::StoreError;

impl Pools {
    /// Reads with the read-only connections.
    pub(crate) async fn read<T>(
        &self,
        read: impl AsyncFnOnce(SqlitePool) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        read(self.reader.clone()).await.map_err(|error| self.classify(error))
    }

    /// Runs a statement that is its own transaction, and reads its rows.
    pub(crate) async fn write<T>(
        &self,
        write: impl AsyncFnOnce(SqlitePool) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        write(self.writer.clone()).await.map_err(|error| self.classify(error))
    }

    /// Executes a statement that is its own transaction.
    pub(crate) async fn execute(
        &self,
        statement: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<SqliteQueryResult, StoreError> {
        self.write(async |pool| statement.execute(&pool).await).await
    }

    /// Begins a write transaction. IMMEDIATE takes the write lock at once: a deferred transaction that reads first cannot
    /// be upgraded after another process has written.
    pub(crate) async fn begin(&self) -> Result<WriteTransaction, StoreError> {
        let begun = self.writer.begin_with("BEGIN IMMEDIATE").await;
        let transaction = begun.map_err(|error| self.classify(error))?;
        Ok(WriteTransaction { pools: self.clone(), transaction })
    }

    /// Checks, with the writing connection, that no thread that `is_meant` was erased while the work that writes now was
    /// under way.
    pub(crate) async fn none_erased(
        &self,
        connection: &mut SqliteConnection,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let found = self.erased.find(connection, is_meant).await;
        match found.map_err(|error| self.classify(error))? {
            Some(thread_id) => Err(StoreError::Erased { thread_id }),
            None => Ok(()),
        }
    }
}

/// A write transaction. Dropped before it is committed, it stores nothing.
pub(crate) struct WriteTransaction {
    pools: Pools,
    transaction: Transaction<'static, Sqlite>,
}

impl WriteTransaction {
    pub(crate) async fn execute(
        &mut self,
        statement: Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<SqliteQueryResult, StoreError> {
        self.run(async |connection| statement.execute(connection).await).await
    }

    /// Executes several statements.
    pub(crate) async fn run_script(&mut self, sql: &str) -> Result<(), StoreError> {
        let script = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        self.run(async |connection| script.execute(connection).await).await.map(drop)
    }

    /// Runs other steps in it.
    pub(crate) async fn run<T>(
        &mut self,
        step: impl AsyncFnOnce(&mut SqliteConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        step(&mut self.transaction).await.map_err(|error| self.pools.classify(error))
    }

    /// See [`Pools::none_erased`].
    pub(crate) async fn none_erased(
        &mut self,
        is_meant: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        self.pools.none_erased(&mut self.transaction, is_meant).await
    }

    /// The same for one thread.
    pub(crate) async fn not_erased(&mut self, thread_id: &str) -> Result<(), StoreError> {
        self.none_erased(|erased| erased == thread_id).await
    }

    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await.map_err(|error| self.pools.classify(error))
    }

    /// Commits data that cannot be rebuilt from the transcripts: it is on disk when this returns. Other writers do not
    /// wait for that.
    pub(crate) async fn commit_durably(self) -> Result<(), StoreError> {
        let pools = self.pools.clone();
        self.commit().await?;
        pools.sync().await
    }
}
