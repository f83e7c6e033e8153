//! Tables for Python: the Arrow C stream that polars, pyarrow, pandas and DuckDB read.
//!
//! Times are 64-bit integers of nanoseconds. Enumerations travel as codes.

#![forbid(unsafe_code)]

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt16Type, UInt32Type, UInt64Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, LargeListArray, LargeStringArray,
    PrimitiveArray, RecordBatch, RecordBatchIterator,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, Field, Schema};
use trace_model::column::{Columns, Lists, Values};

/// A table that can be exported as a stream more than once.
#[derive(Clone, Debug)]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    /// # Errors
    /// The columns do not form a table.
    pub fn new(columns: Columns) -> Result<Self, ArrowError> {
        let batch = record_batch(columns)?;
        Ok(Table { batch })
    }

    /// Return the stream of the PyCapsule interface.
    #[must_use]
    pub fn stream(&self) -> FFI_ArrowArrayStream {
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        FFI_ArrowArrayStream::new(Box::new(batches))
    }

    #[must_use]
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }
}

fn record_batch(columns: Columns) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::with_capacity(columns.columns.len());
    let mut arrays = Vec::with_capacity(columns.columns.len());
    for column in columns.columns {
        let nulls = column.validity.map(NullBuffer::from);
        let array = array(column.values, nulls)?;
        fields.push(Field::new(column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
}

fn array(values: Values, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    Ok(match values {
        Values::U8(values) => primitive::<UInt8Type>(values, nulls),
        Values::U16(values) => primitive::<UInt16Type>(values, nulls),
        Values::U32(values) => primitive::<UInt32Type>(values, nulls),
        Values::U64(values) => primitive::<UInt64Type>(values, nulls),
        Values::I64(values) | Values::Time(values) | Values::Duration(values) => {
            primitive::<Int64Type>(values, nulls)
        }
        Values::F64(values) => primitive::<Float64Type>(values, nulls),
        Values::Bool(values) => Arc::new(BooleanArray::new(BooleanBuffer::from(values), nulls)),
        // The schema declares the words, so only the codes travel.
        Values::Enum(codes, _) => primitive::<UInt8Type>(codes, nulls),
        Values::Text(text) => {
            let offsets = offsets(text.ends);
            Arc::new(LargeStringArray::try_new(
                offsets,
                text.items.into(),
                nulls,
            )?)
        }
        Values::ListU32(lists) => list::<UInt32Type>(lists, nulls)?,
        Values::ListU64(lists) => list::<UInt64Type>(lists, nulls)?,
    })
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

fn list<T: ArrowPrimitiveType>(
    lists: Lists<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, ArrowError> {
    let item = Arc::new(Field::new("item", T::DATA_TYPE, true));
    let items = primitive::<T>(lists.items, None);
    Ok(Arc::new(LargeListArray::try_new(
        item,
        offsets(lists.ends),
        items,
        nulls,
    )?))
}

/// Return Arrow offsets. Arrow's offsets start with a zero. Our lists hold ends.
fn offsets(mut ends: Vec<i64>) -> OffsetBuffer<i64> {
    ends.insert(0, 0);
    OffsetBuffer::new(ScalarBuffer::from(ends))
}
